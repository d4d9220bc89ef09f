#include "foretell/features.h"
#include "src/features/feature_table.h"
#include "src/features/node_facts.h"

namespace foretell {

std::vector<NodeFeatureRow> NodeFeatures(const OperatorGraph& graph) {
  std::vector<NodeFeatureRow> rows;
  rows.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    const NodeFacts facts = FactsOf(graph, node);
    NodeFeatureRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = static_cast<float>(Encode(kNodeFeatures[i], facts));
    }
  }
  return rows;
}

GraphFeatures ExtractFeatures(const OperatorGraph& graph) {
  GraphFeatures features{.nodes = NodeFeatures(graph),
                         .sources = {},
                         .targets = {},
                         .statics = CountStaticFeatures(graph)};
  for (const auto& [producer, consumer] : graph.Edges()) {
    features.sources.push_back(producer);
    features.targets.push_back(consumer);
  }
  return features;
}

}  // namespace foretell
