#include "src/runtime/compile/decompose_losses.h"

#include <utility>

// nll_loss_forward and nll_loss_backward of torch/_decomp/decompositions.py
// (PyTorch 2.13), for a mean without weights of classes: the loss is the sum of
// what is gathered of the rows whose target counts, divided by their number.
// The gradient is a comparison of each class with the target: it reads no
// logarithms.

namespace foretell::runtime {
namespace {

TensorType WithType(TensorType type, DType dtype) {
  type.dtype = dtype;
  return type;
}

void AddLoss(PrimitiveEmitter& emitter, const Node& node) {
  const ValueId log = emitter.Now(node.inputs[0]);
  const ValueId target = emitter.Now(node.inputs[1]);
  const TensorType row =
      WithType(emitter.TypeOf(target), emitter.TypeOf(log).dtype);
  const ValueId counts =
      emitter.Emit("ne", {target}, WithType(row, DType::kBool));
  const ValueId picked = emitter.Emit("gather", {log, target}, row);
  const ValueId kept =
      emitter.Emit("where", {counts, emitter.Emit("neg", {picked}, row)}, row);
  const TensorType scalar = {row.dtype, {}};
  const ValueId sum = emitter.Emit("sum", {kept}, scalar);
  const ValueId count = emitter.Emit("sum", {counts}, scalar);
  emitter.Set(node.outputs[0], emitter.Emit("div", {sum, count}, scalar));
  if (node.outputs.size() > 1) emitter.Set(node.outputs[1], count);
}

/// grad, self, target, total_weight.
void AddGradient(PrimitiveEmitter& emitter, const Node& node) {
  const ValueId each = emitter.Emit(
      "div", {emitter.Now(node.inputs[0]), emitter.Now(node.inputs[3])},
      emitter.graph().value(node.inputs[0]).type);
  emitter.Set(node.outputs[0],
              emitter.Emit("where", {emitter.Now(node.inputs[2]), each},
                           emitter.graph().value(node.outputs[0]).type));
}

}  // namespace

bool DecomposeLoss(PrimitiveEmitter& emitter, const Node& node) {
  constexpr std::int64_t kMean = 1;
  if (node.Int("reduction", kMean) != kMean) return false;
  if (node.target == "nll_loss_forward" && node.inputs.size() == 2) {
    AddLoss(emitter, node);
    return true;
  }
  if (node.target == "nll_loss_backward" && node.inputs.size() == 4) {
    AddGradient(emitter, node);
    return true;
  }
  return false;
}

}  // namespace foretell::runtime
