#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "foretell/features.h"
#include "src/network/graph_batch.h"

namespace foretell::benchmarks {

/// Labelled graphs, as scripts/bench/bench_training.py writes them.
struct GraphSet {
  std::vector<GraphFeatures> graphs;
  std::vector<std::vector<float>> statics;  ///< 5 per graph.
  at::Tensor targets;                       ///< float32 [graphs, 3].

  /// Graphs [first, last) in one batch.
  learned::GraphBatch Batch(std::size_t first, std::size_t last) const;
};

/// Reads little-endian arrays from `folder`: sizes.i32 [graphs, 2] (nodes,
/// edges), nodes.f32 [all nodes, 32], edges.i32 [all edges, 2] (source and
/// target within the graph), statics.f32 [graphs, 5], targets.f32 [graphs, 3].
/// Throws std::runtime_error when a file is missing or too short.
GraphSet ReadGraphSet(const std::string& folder);

}  // namespace foretell::benchmarks
