#include "src/graph/block_runs.h"

#include <algorithm>
#include <string>

#include "src/graph/index_of.h"

namespace foretell {
namespace {

void MarkKept(const OperatorGraph& graph, const KeptResults& kept,
              const BlockRun& run, std::vector<bool>& is_kept) {
  int number = 0;
  for (NodeId id = run.first; id <= run.last; ++id) {
    if (!kept.is_kept(graph.node(id))) continue;
    if (number++ % kept.every == 0) is_kept[IndexOf(id)] = true;
  }
}

}  // namespace

std::vector<BlockRun> RunsOf(const OperatorGraph& graph,
                             const BlockOf& block_of) {
  std::vector<BlockRun> runs;
  std::string open;
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const Node& node = graph.node(id);
    const bool is_forward = node.phase == Phase::kForward;
    if (is_forward && node.scope.empty()) continue;
    const std::string block = is_forward ? block_of(node.scope) : "";
    if (block.empty() || block != open) {
      open = block;
      if (block.empty()) continue;
      runs.push_back({.first = id, .last = id});
    }
    runs.back().last = id;
  }
  return runs;
}

BlockRuns FindBlockRuns(const OperatorGraph& graph, const RecomputeSpec& spec,
                        const BlockOf& block_of) {
  BlockRuns found{.runs = RunsOf(graph, block_of)};
  found.run_of.assign(graph.nodes().size(), kNone);
  found.is_kept.assign(graph.nodes().size(), false);
  for (std::size_t i = 0; i < found.runs.size(); ++i) {
    const BlockRun& run = found.runs[i];
    std::fill(found.run_of.begin() + run.first,
              found.run_of.begin() + run.last + 1,
              static_cast<std::int32_t>(i));
    for (const KeptResults& kept : spec.kept) {
      MarkKept(graph, kept, run, found.is_kept);
    }
  }
  return found;
}

}  // namespace foretell
