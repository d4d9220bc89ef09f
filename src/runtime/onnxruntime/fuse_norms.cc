#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "src/runtime/onnxruntime/passes.h"

// SkipLayerNormFusion (level "extended", core/optimizer/
// skip_layer_norm_fusion.cc): the layer norm of a sum of two tensors of three
// dimensions and the same type is one kernel if nothing else reads the sum,
// with the bias of the linear layer that makes one of them. In networks that
// normalize before a block the sum goes on to the next block, and the two
// operators stay.

namespace foretell::runtime::ort {
namespace {

constexpr std::size_t kRank = 3;

bool IsResidual(const Draft& draft, const DraftNode& sum) {
  if (sum.target != "add" || sum.inputs.size() != 2) return false;
  const TensorType& type = draft.TypeOf(sum.outputs[0]);
  return type.shape.size() == kRank && draft.TypeOf(sum.inputs[0]) == type &&
         draft.TypeOf(sum.inputs[1]) == type;
}

/// Index of a sum with a constant vector that only the residual reads; -1:
/// neither operand is one.
std::ptrdiff_t BiasOf(const Draft& draft, const Uses& uses,
                      const DraftNode& residual) {
  for (const TensorId id : residual.inputs) {
    const std::ptrdiff_t producer = uses.Producer(id);
    if (producer < 0 || uses.SoleReader(id) < 0) continue;
    const DraftNode& sum = draft.nodes[static_cast<std::size_t>(producer)];
    if (sum.target == "add" && sum.inputs.size() == 2 &&
        draft.IsConstant(sum.inputs[1]) &&
        draft.TypeOf(sum.inputs[1]).shape.size() == 1) {
      return producer;
    }
  }
  return -1;
}

}  // namespace

void FuseNorms(Draft& draft) {
  const Uses uses(draft);
  for (DraftNode& node : draft.nodes) {
    if (node.target != "layer_norm" || uses.SoleReader(node.inputs[0]) < 0) {
      continue;
    }
    const std::ptrdiff_t producer = uses.Producer(node.inputs[0]);
    if (producer < 0) continue;
    DraftNode& residual = draft.nodes[static_cast<std::size_t>(producer)];
    if (!IsResidual(draft, residual)) continue;
    std::vector<DraftNode> parts;
    const std::ptrdiff_t bias = BiasOf(draft, uses, residual);
    if (bias >= 0) {
      parts.push_back(
          std::exchange(draft.nodes[static_cast<std::size_t>(bias)], {}));
    }
    parts.push_back(std::exchange(residual, {}));
    parts.push_back(std::move(node));
    node = Fuse("fused_reduce", std::move(parts));
  }
  DropUnused(draft);
}

}  // namespace foretell::runtime::ort
