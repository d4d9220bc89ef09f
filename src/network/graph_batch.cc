// Graphs of different sizes in one batch, without padding and without sorting
// at every step.
//
// All nodes are one after the other in one matrix; `graph_begin` states where
// each graph starts. The edges are stored twice, both times in compressed rows
// (CSR): once by consumer, so that a layer sums the neighbours of a node by
// reading one short run of ids, and once by producer, which is the transposed
// matrix that the gradient needs. Forward and backward thus both write every
// row exactly once, from one thread: no atomic additions, no order that
// depends on the scheduling, and so the same bits in every run.
//
// Ids are 32 bits wide: a batch of two thousand million nodes does not fit in
// memory anyway, and half the bytes are read.
#include "src/network/graph_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <string>

#include "src/core/failure.h"

namespace foretell::learned {
namespace {

EdgeList EdgesOfGraph(const GraphFeatures& features) {
  return {features.nodes.size(), features.sources, features.targets};
}

struct Sizes {
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
};

// Node columns of a graph, and whether its spans have one row per node.
std::size_t CountColumns(const GraphInput& graph, std::size_t index) {
  const std::size_t nodes = graph.features->nodes.size();
  if (graph.node_columns.size() % nodes != 0) {
    throw InvalidArgument(
        "graph {} of the batch: {} numbers in its node columns, not a multiple "
        "of its {} nodes",
        index, graph.node_columns.size(), nodes);
  }
  if (!graph.shares.empty() && graph.shares.size() != nodes) {
    throw InvalidArgument("graph {} of the batch: {} shares for its {} nodes",
                          index, graph.shares.size(), nodes);
  }
  return graph.node_columns.size() / nodes;
}

void CheckColumns(std::span<const GraphInput> graphs, std::size_t index) {
  const std::size_t found = CountColumns(graphs[index], index);
  const std::size_t expected = CountColumns(graphs[0], 0);
  if (found != expected) {
    throw InvalidArgument(
        "graph {} of the batch: {} node columns, but graph 0 has {}", index,
        found, expected);
  }
  if (graphs[index].shares.empty() != graphs[0].shares.empty()) {
    throw InvalidArgument("graph {} of the batch: only some graphs have shares",
                          index);
  }
}

// Checks all graphs and adds up their sizes.
Sizes CheckGraphs(std::span<const GraphInput> graphs) {
  if (graphs.empty()) {
    throw InvalidArgument("a batch of no graphs");
  }
  Sizes sizes;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    if (graphs[g].features == nullptr || graphs[g].features->nodes.empty()) {
      throw InvalidArgument("graph {} of the batch: it has no nodes", g);
    }
    CheckEdges(EdgesOfGraph(*graphs[g].features), "graph", g);
    if (graphs[g].statics.size() != graphs[0].statics.size()) {
      throw InvalidArgument(
          "graph {} of the batch: {} static features, but graph 0 has {}", g,
          graphs[g].statics.size(), graphs[0].statics.size());
    }
    CheckColumns(graphs, g);
    sizes.nodes += static_cast<std::int64_t>(graphs[g].features->nodes.size());
    sizes.edges +=
        static_cast<std::int64_t>(graphs[g].features->sources.size());
  }
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (sizes.nodes > kLargest || sizes.edges > kLargest) {
    throw InvalidArgument(
        "a batch of {} nodes and {} edges; at most {} of each", sizes.nodes,
        sizes.edges, kLargest);
  }
  return sizes;
}

at::Tensor GatherShares(std::span<const GraphInput> graphs,
                        const Sizes& sizes) {
  at::Tensor shares = at::empty({sizes.nodes}, at::kFloat);
  auto* next = shares.data_ptr<float>();
  for (const GraphInput& graph : graphs) {
    next = std::copy(graph.shares.begin(), graph.shares.end(), next);
  }
  return shares;
}

}  // namespace

GraphBatch GraphBatch::To(const at::Device& device) const {
  const auto move = [&device](const at::Tensor& tensor) {
    return tensor.to(device, /*non_blocking=*/true);
  };
  return {move(nodes),
          shares.defined() ? move(shares) : shares,
          {move(incoming.begin), move(incoming.neighbour)},
          {move(outgoing.begin), move(outgoing.neighbour)},
          move(graph_begin),
          move(statics)};
}

GraphBatch Collate(std::span<const GraphInput> graphs) {
  const Sizes sizes = CheckGraphs(graphs);
  const auto num_graphs = static_cast<std::int64_t>(graphs.size());
  const auto num_statics = static_cast<std::int64_t>(graphs[0].statics.size());
  const auto num_columns =
      static_cast<std::ptrdiff_t>(CountColumns(graphs[0], 0));
  GraphBatch batch;
  batch.nodes =
      at::empty({sizes.nodes, kNumNodeFeatures + num_columns}, at::kFloat);
  batch.graph_begin = at::empty({num_graphs + 1}, at::kInt);
  batch.statics = at::empty({num_graphs, num_statics}, at::kFloat);
  auto* row = batch.nodes.data_ptr<float>();
  auto* begin = batch.graph_begin.data_ptr<std::int32_t>();
  auto* statics = batch.statics.data_ptr<float>();
  *begin = 0;
  for (const GraphInput& graph : graphs) {
    const std::vector<NodeFeatureRow>& nodes = graph.features->nodes;
    const float* columns = graph.node_columns.data();
    for (const NodeFeatureRow& node : nodes) {
      row = std::copy(node.begin(), node.end(), row);
      row = std::copy_n(columns, num_columns, row);
      columns += num_columns;
    }
    begin[1] = begin[0] + static_cast<std::int32_t>(nodes.size());
    ++begin;
    statics = std::copy(graph.statics.begin(), graph.statics.end(), statics);
  }
  if (!graphs[0].shares.empty()) batch.shares = GatherShares(graphs, sizes);
  std::vector<EdgeList> edges;
  for (const GraphInput& graph : graphs) {
    edges.push_back(EdgesOfGraph(*graph.features));
  }
  batch.incoming = IncomingLists(edges);
  batch.outgoing = OutgoingLists(edges);
  return batch;
}

}  // namespace foretell::learned
