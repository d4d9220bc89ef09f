#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace foretell::learned {

/// Neighbours of every node in compressed rows: those of node i are
/// `neighbour[begin[i]]` up to `neighbour[begin[i + 1]]`.
struct NeighbourLists {
  at::Tensor begin;      ///< int32 [num_nodes + 1], ascending from 0.
  at::Tensor neighbour;  ///< int32 [num_edges], ids of nodes in the batch.
};

/// Edges of one graph: from node `sources[e]` to node `targets[e]`.
struct EdgeList {
  std::size_t num_nodes = 0;
  std::span<const std::int64_t> sources;
  std::span<const std::int64_t> targets;
};

/// Throws Error(kInvalidArgument) that names the `what` ("graph") and its place
/// in the batch: for sources and targets of different lengths, for edges that
/// leave their graph or are loops.
void CheckEdges(const EdgeList& edges, std::string_view what,
                std::size_t place);

/// Producers of every node of graphs that are laid out one after the other, and
/// consumers: the same edges turned round. Requires CheckEdges, and fewer than
/// 2^31 nodes and edges in all.
NeighbourLists IncomingLists(std::span<const EdgeList> graphs);
NeighbourLists OutgoingLists(std::span<const EdgeList> graphs);

/// The node that each edge is listed for, node i as often as it has
/// neighbours: int32 [num_edges], on the lists' device.
at::Tensor RowOfEachEdge(const NeighbourLists& lists);

}  // namespace foretell::learned
