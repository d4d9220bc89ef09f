#include "src/runtime/compile/decompose_losses.h"

#include <cstddef>
#include <cstdint>
#include <utility>

// _nll_loss_forward and _nll_loss_backward of torch/_decomp/decompositions.py
// (PyTorch 2.13). Forward, the target's element of each row is gathered, and
// sums are taken of what is not ignored. Backward, -1 at the target times the
// gradient: a scatter into zeros, so no probability is read and none has to be
// kept. It becomes a comparison with the index (fx_passes/joint_graph.py).
// Under PyTorch 2.11 steps of language models held as many bytes more as it has
// (datasets/labels/h200-sxm-141gb/compile.jsonl.gz): it was in memory.

namespace foretell::runtime {
namespace {

constexpr std::int64_t kPlain = 0, kMean = 1;  // at::Reduction

/// Of operands [N, C, ...] and [N, ...].
bool IsOverChannels(const TensorType& rows, const TensorType& target) {
  return rows.shape.size() >= 2 && target.shape.size() + 1 == rows.shape.size();
}

ValueId Mask(PrimitiveEmitter& emitter, ValueId target) {
  return emitter.Emit("ne", {target},
                      {DType::kBool, emitter.TypeOf(target).shape});
}

bool Forward(PrimitiveEmitter& emitter, const Node& node) {
  if (node.inputs.size() != 2) return false;
  const ValueId rows = emitter.Now(node.inputs[0]);
  const ValueId target = emitter.Now(node.inputs[1]);
  if (!IsOverChannels(emitter.TypeOf(rows), emitter.TypeOf(target)))
    return false;
  const DType dtype = emitter.TypeOf(rows).dtype;
  const TensorType each = {dtype, emitter.TypeOf(target).shape};
  const TensorType one = {dtype, {}};
  const ValueId mask = Mask(emitter, target);
  ValueId loss = emitter.Emit("gather", {rows, target}, each);
  loss = emitter.Emit("where", {mask, loss}, each);
  const std::int64_t reduction = node.Int("reduction", kMean);
  if (reduction != kPlain) loss = emitter.Emit("sum", {loss}, one);
  const ValueId count = emitter.Emit("sum", {mask}, one);
  if (reduction == kMean) loss = emitter.Emit("div", {loss, count}, one);
  emitter.Set(node.outputs[0], loss);
  if (node.outputs.size() > 1) emitter.Set(node.outputs[1], count);
  return true;
}

/// Of the gradient, the probabilities, the target and the total weight.
bool Backward(PrimitiveEmitter& emitter, const Node& node,
              bool fuses_scatters) {
  if (node.inputs.size() != 4) return false;
  const ValueId target = emitter.Now(node.inputs[2]);
  const TensorType& rows = emitter.graph().value(node.outputs[0]).type;
  if (!IsOverChannels(rows, emitter.TypeOf(target))) return false;
  ValueId gradient = emitter.Now(node.inputs[0]);
  if (node.Int("reduction", kMean) == kMean) {
    gradient = emitter.Emit("div", {gradient, emitter.Now(node.inputs[3])},
                            {rows.dtype, emitter.TypeOf(gradient).shape});
  }
  TensorType column = emitter.TypeOf(target);
  column.shape.insert(column.shape.begin() + 1, 1);
  const ValueId index = emitter.View(target, column);
  if (fuses_scatters) {
    emitter.Set(node.outputs[0],
                emitter.Emit("where", {index, gradient}, rows));
    return true;
  }
  const ValueId zeros = emitter.Emit("zeros_like", {}, rows);
  const ValueId ones =
      emitter.EmitInto(zeros, "scatter_", {zeros, index}, {{"value", -1.0}});
  emitter.Set(node.outputs[0], emitter.Emit("mul", {ones, gradient}, rows));
  return true;
}

}  // namespace

bool DecomposeLoss(PrimitiveEmitter& emitter, const Node& node,
                   bool fuses_scatters) {
  if (node.target == "nll_loss_forward" ||
      node.target == "nll_loss2d_forward") {
    return Forward(emitter, node);
  }
  const bool is_backward = node.target == "nll_loss_backward" ||
                           node.target == "nll_loss2d_backward";
  return is_backward && Backward(emitter, node, fuses_scatters);
}

}  // namespace foretell::runtime
