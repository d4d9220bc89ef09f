#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "src/graph/attributes.h"
#include "src/runtime/onnxruntime/passes.h"

// Level "extended":
//
// BiasGeluFusion and FastGeluFusion (core/optimizer/bias_gelu_fusion.cc,
// fast_gelu_fusion.cc): GELU of a sum with a vector along the last dimension is
// one kernel, BiasGelu or FastGelu with bias, if nothing else reads the sum.
//
// BiasSoftmaxFusion (bias_softmax_fusion.cc): so is a softmax along the last
// dimension of a sum with a mask of the same rank.

namespace foretell::runtime::ort {
namespace {

/// True if the second operand of the sum is a vector for the last dimension.
bool AddsVector(const Draft& draft, const DraftNode& sum) {
  if (sum.target != "add" || sum.inputs.size() != 2) return false;
  const auto& vector = draft.TypeOf(sum.inputs[1]).shape;
  const auto& result = draft.TypeOf(sum.outputs[0]).shape;
  return draft.IsConstant(sum.inputs[1]) && vector.size() == 1 &&
         !result.empty() && vector.front() == result.back();
}

bool AddsMask(const Draft& draft, const DraftNode& sum) {
  if (sum.target != "add" || sum.inputs.empty()) return false;
  const auto& result = draft.TypeOf(sum.outputs[0]);
  if (draft.TypeOf(sum.inputs[0]) != result) return false;
  return sum.inputs.size() == 1 ||
         draft.TypeOf(sum.inputs[1]).shape.size() == result.shape.size();
}

bool IsAlongLast(const Draft& draft, const DraftNode& node) {
  const std::size_t rank = draft.TypeOf(node.inputs[0]).shape.size();
  return rank > 0 && DimOf(AsNode(node), "dim", rank) == rank - 1;
}

std::string_view FusedTarget(const Draft& draft, const DraftNode& sum,
                             const DraftNode& node) {
  if (node.target == "gelu" && AddsVector(draft, sum)) {
    return "fused_elementwise";
  }
  if (node.target == "softmax" && AddsMask(draft, sum) &&
      IsAlongLast(draft, node)) {
    return "fused_reduce";
  }
  return {};
}

}  // namespace

void FuseActivations(Draft& draft) {
  const Uses uses(draft);
  for (DraftNode& node : draft.nodes) {
    if (node.inputs.empty() || uses.SoleReader(node.inputs[0]) < 0) continue;
    const std::ptrdiff_t producer = uses.Producer(node.inputs[0]);
    if (producer < 0) continue;
    DraftNode& sum = draft.nodes[static_cast<std::size_t>(producer)];
    const std::string_view target = FusedTarget(draft, sum, node);
    if (target.empty()) continue;
    DraftNode first = std::exchange(sum, {});
    DraftNode second = std::move(node);
    node = Fuse(target, {std::move(first), std::move(second)});
  }
  DropUnused(draft);
}

}  // namespace foretell::runtime::ort
