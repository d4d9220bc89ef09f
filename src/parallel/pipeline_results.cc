#include "src/parallel/pipeline_results.h"

#include <algorithm>

#include "src/graph/index_of.h"

namespace foretell::parallel {
namespace {

/// By micro-batch, its first node.
std::vector<NodeId> FirstNodes(const PipelineCut& cut) {
  std::vector<NodeId> first;
  for (NodeId id = 0; id < std::ssize(cut.micro_batch_of); ++id) {
    const int batch = cut.micro_batch_of[IndexOf(id)];
    if (batch == std::ssize(first)) first.push_back(id);
  }
  return first;
}

NodeId LastForward(const OperatorGraph& graph, NodeId first) {
  NodeId id = first;
  while (id + 1 < std::ssize(graph.nodes()) &&
         graph.node(id + 1).phase == Phase::kForward) {
    ++id;
  }
  return id;
}

}  // namespace

std::vector<PipelineResult> FindResults(const OperatorGraph& graph,
                                        const PipelineCut& cut) {
  const std::vector<NodeId> first = FirstNodes(cut);
  std::vector<PipelineResult> found;
  for (int batch = 0; batch < std::ssize(first); ++batch) {
    const auto add = [&](NodeId node, bool is_loss, std::size_t output) {
      const std::vector<ValueId>& outputs = graph.node(node).outputs;
      if (output >= outputs.size()) return;
      found.push_back({.storage = graph.value(outputs[output]).storage,
                       .node = node,
                       .micro_batch = batch,
                       .is_loss = is_loss});
    };
    for (const ValueId result : graph.outputs()) {
      const NodeId producer = graph.value(result).producer;
      if (producer < first.back()) continue;
      const std::vector<ValueId>& outputs = graph.node(producer).outputs;
      const auto place = std::ranges::find(outputs, result) - outputs.begin();
      add(first[IndexOf(batch)] + (producer - first.back()), false,
          static_cast<std::size_t>(place));
    }
    add(LastForward(graph, first[IndexOf(batch)]), true, 0);
  }
  return found;
}

}  // namespace foretell::parallel
