#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/index_of.h"
#include "src/runtime/onnxruntime/passes.h"

// SkipLayerNormFusion (level "extended", core/optimizer/
// skip_layer_norm_fusion.cc): the layer norm of a sum of two tensors of three
// dimensions and the same type is one kernel if nothing else reads the sum,
// with the bias of the linear layer that makes one of them, or one that is
// added last, as SkipLayerNormalization in a file is recorded. In networks that
// normalize before a block the sum goes on to the next block, and the two
// operators stay.
//
// Both shapes must be known: sizes as numbers, the first one also by name. So
// the norm after an attention stays unless the batch is fixed: the CUDA
// provider of 1.31 leaves all nine of a DistilBERT with a named batch. The
// optimizer of "transformers" infers symbols itself. A sum and a norm of one
// scope are one node in the file already, and stay so.

namespace foretell::runtime::ort {
namespace {

constexpr std::size_t kRank = 3;

bool IsResidual(const Draft& draft, const DraftNode& sum) {
  if (sum.target != "add" || sum.inputs.size() != 2) return false;
  const TensorType& type = draft.TypeOf(sum.outputs[0]);
  return type.shape.size() == kRank && draft.TypeOf(sum.inputs[0]) == type &&
         draft.TypeOf(sum.inputs[1]) == type;
}

bool AddsBias(const Draft& draft, const DraftNode& sum) {
  return sum.target == "add" && sum.inputs.size() == 2 &&
         draft.IsConstant(sum.inputs[1]) &&
         draft.TypeOf(sum.inputs[1]).shape.size() == 1;
}

/// What a pass over the norms knows of the graph before it.
struct Known {
  Uses uses;
  std::vector<bool> unknown;  ///< By tensor: see UnknownSizes.
};

/// Index of a sum with a constant vector that only the residual reads; -1:
/// neither operand is one.
std::ptrdiff_t BiasOf(const Draft& draft, const Uses& uses,
                      const DraftNode& residual) {
  for (const TensorId id : residual.inputs) {
    const std::ptrdiff_t producer = uses.Producer(id);
    if (producer < 0 || uses.SoleReader(id) < 0) continue;
    if (AddsBias(draft, draft.nodes[static_cast<std::size_t>(producer)])) {
      return producer;
    }
  }
  return -1;
}

/// Index of the node that makes `id`, if nothing else reads it; else -1.
std::ptrdiff_t SoleProducer(const Uses& uses, TensorId id) {
  return uses.SoleReader(id) < 0 ? -1 : uses.Producer(id);
}

bool IsKnown(const Known& known, const DraftNode& residual) {
  return std::ranges::none_of(residual.inputs, [&known](TensorId id) {
    return static_cast<bool>(known.unknown[IndexOf(id)]);
  });
}

DraftNode Taken(Draft& draft, std::ptrdiff_t at) {
  return std::exchange(draft.nodes[static_cast<std::size_t>(at)], {});
}

/// Fuses what makes the operand of the layer norm `node` into it.
void FuseNorm(Draft& draft, const Known& known, DraftNode& node) {
  const Uses& uses = known.uses;
  const std::ptrdiff_t last = SoleProducer(uses, node.inputs[0]);
  if (last < 0) return;
  const DraftNode& sum = draft.nodes[static_cast<std::size_t>(last)];
  const bool adds_bias = AddsBias(draft, sum);
  const std::ptrdiff_t at =
      adds_bias ? SoleProducer(uses, sum.inputs[0]) : last;
  if (at < 0) return;
  const DraftNode& residual = draft.nodes[static_cast<std::size_t>(at)];
  if (!IsResidual(draft, residual)) return;
  const bool is_of_file = !node.scope.empty() && residual.scope == node.scope;
  const bool is_known = IsKnown(known, residual);
  if (!is_of_file && !is_known) return;
  std::vector<DraftNode> parts;
  const std::ptrdiff_t bias = is_known ? BiasOf(draft, uses, residual) : -1;
  if (bias >= 0) parts.push_back(Taken(draft, bias));
  parts.push_back(Taken(draft, at));
  if (adds_bias) parts.push_back(Taken(draft, last));
  parts.push_back(std::move(node));
  node = Fuse("fused_reduce", std::move(parts));
}

}  // namespace

void FuseNorms(Draft& draft, OrtLevel level) {
  Known known{.uses = Uses(draft), .unknown = UnknownSizes(draft)};
  if (level == OrtLevel::kTransformers) {
    known.unknown.assign(draft.tensors.size(), false);
  }
  for (DraftNode& node : draft.nodes) {
    if (node.target == "layer_norm") FuseNorm(draft, known, node);
  }
  DropUnused(draft);
}

}  // namespace foretell::runtime::ort
