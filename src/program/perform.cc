#include "src/program/perform.h"

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "foretell/error.h"

namespace foretell {
namespace {

/// Largest number of input elements of an operator that is run for its shapes.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 24;

constexpr std::array<std::string_view, 18> kDataDependent = {
    "aten::_local_scalar_dense", "aten::_unique", "aten::_unique2",
    "aten::allclose", "aten::argwhere", "aten::bincount", "aten::equal",
    "aten::is_nonzero", "aten::item", "aten::masked_select", "aten::nonzero",
    "aten::nonzero_numpy", "aten::repeat_interleave", "aten::unique_consecutive",
    "aten::unique_dim", "aten::unique_dim_consecutive",
    "torchvision::nms", "aten::tensor_split"};

bool IsMask(const c10::IValue& index) {
  if (!index.isTensor() || !index.toTensor().defined()) return false;
  const at::ScalarType type = index.toTensor().scalar_type();
  return type == at::kBool || type == at::kByte;
}

bool HasBooleanIndex(const c10::IValue& indices) {
  if (!indices.isList()) return false;
  const auto list = indices.toListRef();
  return std::any_of(list.begin(), list.end(), IsMask);
}

c10::IValue ToCpu(const c10::IValue& value, std::int64_t& elements) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined() || !tensor.is_meta()) return value;
    elements += tensor.numel();
    if (elements > kMaxElements) return value;
    return at::ones(tensor.sizes(), tensor.options().device(at::kCPU));
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(ToCpu(tensor, elements).toTensor());
    }
    return list;
  }
  return value;
}

c10::IValue ToMeta(const c10::IValue& value) {
  const auto to_meta = [](const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    return at::empty_strided(tensor.sizes(), tensor.strides(),
                             tensor.options().device(at::kMeta));
  };
  if (value.isTensor()) return to_meta(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(to_meta(tensor));
    }
    return list;
  }
  return value;
}

}  // namespace

bool DependsOnData(const c10::OperatorHandle& op,
                   const torch::jit::Stack& stack) {
  const std::string& name = op.schema().name();
  if (name == "aten::repeat_interleave") {
    // With output_size, or with an int, the shape is known.
    const size_t count = op.schema().arguments().size();
    const c10::IValue& repeats =
        stack[stack.size() - count + (count > 2 ? 1 : 0)];
    return repeats.isTensor() && stack.back().isNone();
  }
  if (name == "aten::tensor_split") {
    const size_t first = stack.size() - op.schema().arguments().size();
    return stack[first + 1].isTensor();
  }
  if (name == "aten::index") return HasBooleanIndex(stack.back());
  return std::find(kDataDependent.begin(), kDataDependent.end(), name) !=
         kDataDependent.end();
}

void PerformOnCpuForShapes(const c10::OperatorHandle& op,
                           torch::jit::Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  if (schema.is_mutable()) {
    throw Error(ErrorCode::kUnsupported,
                schema.name() + " writes into its argument and has no meta "
                                "kernel; try --trace cpu");
  }
  std::int64_t elements = 0;
  for (size_t i = stack.size() - schema.arguments().size(); i < stack.size();
       ++i) {
    stack[i] = ToCpu(stack[i], elements);
  }
  if (elements > kMaxElements) {
    throw Error(ErrorCode::kUnsupported,
                schema.name() + " has no meta kernel and its inputs have more "
                                "than " + std::to_string(kMaxElements) +
                    " elements; try --trace cpu or a smaller batch");
  }
  {
    const c10::impl::ExcludeDispatchKeyGuard no_grad(
        c10::autograd_dispatch_keyset);
    op.callBoxed(&stack);
  }
  const size_t first = stack.size() - schema.returns().size();
  for (size_t i = first; i < stack.size(); ++i) stack[i] = ToMeta(stack[i]);
}

}  // namespace foretell
