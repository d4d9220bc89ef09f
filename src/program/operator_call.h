#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

#include "foretell/graph.h"
#include "src/graph/strides.h"

/// Reading a boxed call: its arguments are the last entries of `stack`, from
/// index `first` on, in the order of the schema.
namespace foretell {

/// Calls `visit` on every defined tensor in `value`, in order.
template <typename Visit>
void ForEachTensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) visit(tensor);
    }
  } else if (value.isList() || value.isTuple()) {
    const auto elements = value.isList() ? value.toListRef().vec()
                                         : value.toTupleRef().elements().vec();
    for (const c10::IValue& element : elements) ForEachTensor(element, visit);
  }
}

/// Values of the arguments that are numbers, flags, strings or lists of them,
/// without where and in which form a result is stored: the result shows that.
Attributes ToAttributes(const c10::FunctionSchema& schema,
                        const torch::jit::Stack& stack, size_t first);

/// Name of the operator without "aten::".
std::string TargetOf(const c10::OperatorHandle& op);

/// Makes every Device argument `device`.
void ReplaceDevices(torch::jit::Stack& stack, size_t first,
                    c10::DeviceType device);
/// Gives `device` to a call that makes floating-point numbers with dimensions
/// out of their sizes alone and names no device, and returns whether it did.
/// Whole numbers are left on the host, where code looks at them.
bool GiveDevice(const c10::FunctionSchema& schema, torch::jit::Stack& stack,
                c10::DeviceType device);
/// True when an argument is a Device of type `device`: without a tensor on it
/// this is the only way to get a result there.
bool NamesDevice(const torch::jit::Stack& stack, size_t first,
                 c10::DeviceType device);

/// Tensors among the arguments that the operator writes.
std::vector<at::Tensor> Mutated(const c10::FunctionSchema& schema,
                                const torch::jit::Stack& stack, size_t first);

/// False for `size`, `dim`, `item` and other queries, which cost nothing.
bool MakesTensors(const c10::FunctionSchema& schema);

/// Element type and shape; throws Error(kUnsupported) for a type that a graph
/// cannot hold.
TensorType TypeOf(const at::Tensor& tensor);
/// How the elements lie; empty for layouts without strides, such as sparse.
Strides StridesOf(const at::Tensor& tensor);

}  // namespace foretell
