#include "src/features/static_features.h"

#include <algorithm>

#include "foretell/features.h"
#include "src/features/feature_table.h"
#include "src/features/node_facts.h"
#include "src/graph/convolution.h"

namespace foretell {
namespace {

bool IsMatrix(const OperatorGraph& graph, ValueId id) {
  return graph.value(id).type.shape.size() == 2;
}

}  // namespace

bool IsDense(const OperatorGraph& graph, const Node& node) {
  if (node.kind == OpKind::kLinear) return true;
  if (node.kind != OpKind::kMatmul) return false;
  const auto is_matrix = [&](ValueId id) { return IsMatrix(graph, id); };
  const bool all_matrices =
      std::ranges::count_if(node.inputs, is_matrix) >= 2 &&
      !node.outputs.empty() && is_matrix(node.outputs.front());
  return all_matrices || std::ranges::any_of(node.inputs, [&](ValueId id) {
           return is_matrix(id) && IsWeight(graph, id);
         });
}

std::array<double, kNumStaticFeatures> StaticFeatures::ToArray() const {
  std::array<double, kNumStaticFeatures> numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<double>(this->*kStaticFeatures[i].count);
  }
  return numbers;
}

StaticFeatures CountStaticFeatures(const OperatorGraph& graph) {
  StaticFeatures counts{.macs = graph.ForwardMacs(),
                        .batch = graph.info().batch};
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) continue;
    if (IsForwardConvolution(node.kind)) ++counts.convolutions;
    if (IsDense(graph, node)) ++counts.dense;
    if (node.kind == OpKind::kRelu) ++counts.relus;
  }
  return counts;
}

}  // namespace foretell
