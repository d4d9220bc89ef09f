#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/util/intrusive_ptr.h>

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foretell/graph.h"
#include "src/graph/strides.h"

namespace foretell {

/// What a call is to the graph while it runs inside of an operator.
enum class InnerCallKind {
  kUnseen,  ///< Moves nothing on a GPU, or asks the host.
  kLeaf,    ///< A view, or an operator with a kernel of its own.
  kOuter,   ///< Made of other calls.
};

InnerCallKind InnerCallKindOf(const c10::OperatorHandle& op);

/// Whether a node of `op` lists the calls that it makes on `device`: of a
/// recurrent layer, which is cuDNN's, only the kernels for meta know them.
bool ListsCalls(const c10::OperatorHandle& op, c10::DeviceType device);

/// The calls that one operator makes inside, from its start to its end.
///
/// Tensors are identified by their objects, whose addresses are not reused
/// while this lives; the tensors themselves are not kept alive.
class InnerCalls {
 public:
  /// What the recorder knows of a tensor.
  struct Known {
    ValueId value = kNone;  ///< kNone: the calls made it.
    StorageId storage = kNone;
  };
  /// `know` looks up a tensor of the trace, and gives no storage for one that
  /// belongs to none of the graph's.
  explicit InnerCalls(std::function<Known(const at::Tensor&)> know)
      : know_(std::move(know)) {}

  /// A call with its tensors as places in a list of all.
  struct Call {
    NodeSpec spec;  ///< Without inputs.
    std::vector<std::size_t> operands;
    std::vector<std::size_t> results;
  };
  /// A call that is about to run; `stack` ends with its arguments.
  Call Begin(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
  /// Adds a call that has run; `stack` ends with its results. Nothing is added
  /// where it returned its operand as it was.
  void End(Call call, const c10::OperatorHandle& op,
           const torch::jit::Stack& stack);

  /// Adds `call`, of which no tensors are known yet: WriteCall.
  void Write(Call call, const std::vector<at::Tensor>& operands,
             const std::vector<at::Tensor>& results);

  /// Adds the calls that make tensors to `node`, whose results are `results`;
  /// adds none if all are views. `name` makes the wanted name of an inner
  /// tensor unique.
  void AddTo(GraphBuilder& builder, NodeId node,
             const std::vector<std::pair<at::Tensor, ValueId>>& results,
             const std::function<std::string(const std::string&)>& name);

 private:
  struct InnerTensor {
    Known known;
    TensorType type;
    Strides strides;
    c10::weak_intrusive_ptr<at::TensorImpl> alive;
  };
  /// Appends the place of `tensor` to `places` if it has a storage.
  void Append(const at::Tensor& tensor, bool is_new,
              std::vector<std::size_t>& places);
  bool HasKernel() const;  ///< More than views.

  std::function<Known(const at::Tensor&)> know_;
  std::vector<InnerTensor> tensors_;
  std::unordered_map<const at::TensorImpl*, std::size_t> places_;
  std::vector<Call> calls_;
};

}  // namespace foretell
