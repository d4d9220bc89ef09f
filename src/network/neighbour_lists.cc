// The rows are filled by a counting sort, O(nodes + edges), which keeps the
// order of the edges. PyTorch Geometric's batches hold a [2, E] list of 64-bit
// pairs in no order; gathering and scattering along it costs two copies of
// [E, features] per layer, more than the sums themselves.
#include "src/network/neighbour_lists.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "src/core/failure.h"
#include "src/core/numbers.h"

namespace foretell::learned {
namespace {

using Ends = std::span<const std::int64_t>;

// Compressed rows of the edges, by the end that `key` names.
NeighbourLists MakeLists(std::span<const EdgeList> graphs, Ends EdgeList::*key,
                         Ends EdgeList::*other) {
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  for (const EdgeList& graph : graphs) {
    nodes += static_cast<std::int64_t>(graph.num_nodes);
    edges += std::ssize(graph.sources);
  }
  NeighbourLists lists{at::empty({nodes + 1}, at::kInt),
                       at::empty({edges}, at::kInt)};
  auto* begin = lists.begin.data_ptr<std::int32_t>();
  auto* neighbour = lists.neighbour.data_ptr<std::int32_t>();
  begin[0] = 0;
  std::int32_t first = 0;
  std::int32_t filled = 0;
  for (const EdgeList& graph : graphs) {
    const Ends keys = graph.*key;
    const Ends others = graph.*other;
    const auto num_nodes = static_cast<std::int32_t>(graph.num_nodes);
    std::vector<std::int32_t> next(graph.num_nodes, 0);
    for (const std::int64_t node : keys) ++next[node];
    for (std::int32_t i = 0; i < num_nodes; ++i) {
      const std::int32_t degree = next[i];
      next[i] = filled;
      filled += degree;
      begin[first + i + 1] = filled;
    }
    for (std::size_t e = 0; e < keys.size(); ++e) {
      neighbour[next[keys[e]]++] = first + static_cast<std::int32_t>(others[e]);
    }
    first += num_nodes;
  }
  return lists;
}

}  // namespace

void CheckEdges(const EdgeList& edges, std::string_view what,
                std::size_t place) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument("{} {} of the batch: {}", what, place, why);
  };
  if (edges.sources.size() != edges.targets.size()) {
    refuse(fmt::format("{} sources of edges, but {} targets",
                       edges.sources.size(), edges.targets.size()));
  }
  const auto num_nodes = static_cast<std::int64_t>(edges.num_nodes);
  for (std::size_t e = 0; e < edges.sources.size(); ++e) {
    const std::int64_t source = edges.sources[e];
    const std::int64_t target = edges.targets[e];
    if (std::min(source, target) < 0 || std::max(source, target) >= num_nodes) {
      refuse(fmt::format("edge {} -> {} leaves the {} of the graph", source,
                         target, Counted(num_nodes, "node")));
    }
    if (source == target) {
      refuse(fmt::format("edge {} -> {} is a loop", source, target));
    }
  }
}

NeighbourLists IncomingLists(std::span<const EdgeList> graphs) {
  return MakeLists(graphs, &EdgeList::targets, &EdgeList::sources);
}

NeighbourLists OutgoingLists(std::span<const EdgeList> graphs) {
  return MakeLists(graphs, &EdgeList::sources, &EdgeList::targets);
}

at::Tensor RowOfEachEdge(const NeighbourLists& lists) {
  const at::Tensor degree =
      lists.begin.slice(0, 1) - lists.begin.slice(0, 0, -1);
  // A plain integer would pick the overload that repeats every element so
  // often; the number of results spares a wait for the device.
  const std::optional<std::int64_t> num_edges = lists.neighbour.size(0);
  return at::repeat_interleave(degree, num_edges);
}

}  // namespace foretell::learned
