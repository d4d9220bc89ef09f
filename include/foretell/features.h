#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "foretell/graph.h"

namespace foretell {

inline constexpr int kNumNodeFeatures = 32;
inline constexpr int kNumStaticFeatures = 5;

/// Changes with every change of a slot or its encoding; a checkpoint is valid
/// for one version only.
inline constexpr int kFeatureVersion = 1;

/// Encoded features of one operator; mostly in [0, 1].
using NodeFeatureRow = std::array<float, kNumNodeFeatures>;

/// Features of a whole graph, unscaled counts of the forward pass.
struct StaticFeatures {
  std::int64_t macs = 0;          ///< Multiply-accumulates, see CountMacs.
  std::int64_t batch = 0;         ///< Batch size.
  std::int64_t convolutions = 0;  ///< Convolutions, transposed ones included.
  std::int64_t dense = 0;         ///< Linear layers and 2-D matrix products.
  std::int64_t relus = 0;         ///< relu and relu_.

  /// The five numbers in the order above.
  std::array<double, kNumStaticFeatures> ToArray() const;
  bool operator==(const StaticFeatures&) const = default;
};

/// Input of a learned predictor for a graph.
struct GraphFeatures {
  std::vector<NodeFeatureRow> nodes;  ///< [num_nodes, 32], in node order.
  /// [num_edges] each: producer and consumer of every data-flow edge, sorted.
  std::vector<std::int64_t> sources;
  std::vector<std::int64_t> targets;
  StaticFeatures statics;
};

/// Features of every operator, [num_nodes, 32], in node order. They depend on
/// types, attributes, roles and phases, never on names or scopes.
std::vector<NodeFeatureRow> NodeFeatures(const OperatorGraph& graph);

/// Counts over the forward pass of `graph`.
StaticFeatures CountStaticFeatures(const OperatorGraph& graph);

/// NodeFeatures, OperatorGraph::Edges and CountStaticFeatures together.
GraphFeatures ExtractFeatures(const OperatorGraph& graph);

}  // namespace foretell
