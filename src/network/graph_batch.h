#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "foretell/features.h"
#include "src/network/neighbour_lists.h"

namespace foretell::learned {

/// Graphs put one after the other in flat arrays, as every network reads them.
/// All tensors are on one device; N nodes, E edges and B graphs in all.
struct GraphBatch {
  /// float32 [N, node features]: those of GraphFeatures, then node_columns.
  at::Tensor nodes;
  /// float32 [N]: each node's share in the prior of its graph; undefined if the
  /// inputs have none.
  at::Tensor shares;
  NeighbourLists incoming;  ///< Producers of every node.
  NeighbourLists outgoing;  ///< Consumers; the same edges turned round.
  at::Tensor graph_begin;   ///< int32 [B + 1]: first node of each graph.
  /// float32 [B, static features], scaled to be about 1 in size.
  at::Tensor statics;

  std::int64_t num_nodes() const { return nodes.size(0); }
  std::int64_t num_graphs() const { return graph_begin.size(0) - 1; }
  /// A copy on `device`; shares the tensors that are there already.
  GraphBatch To(const at::Device& device) const;
};

/// One graph for a batch; what it refers to must live until it is collated.
struct GraphInput {
  const GraphFeatures* features = nullptr;
  /// Scaled static features, and whatever else belongs to the graph as a whole
  /// (figures of a device); of equal length in all graphs of a batch.
  std::span<const float> statics;
  /// Further features of the nodes, [num_nodes, k]; k is the same in all graphs
  /// of a batch. May be empty, and so may `shares`, [num_nodes].
  std::span<const float> node_columns = {};
  std::span<const float> shares = {};
};

/// Lays graphs out flat on the CPU, in their order. Throws
/// Error(kInvalidArgument) for no graph, a graph without nodes, edges that
/// leave their graph or are loops, static features or node columns of different
/// lengths, shares that are not one per node, and more than 2^31 - 1 nodes or
/// edges.
GraphBatch Collate(std::span<const GraphInput> graphs);

}  // namespace foretell::learned
