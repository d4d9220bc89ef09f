#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "foretell/features.h"
#include "src/network/graph_batch.h"

namespace foretell::learned {

using Edges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// `num_nodes` nodes whose slot 0 is 1, 2, … and all else 0.
GraphFeatures CountedGraph(std::int64_t num_nodes, const Edges& edges);

/// A chain with some skip connections and features in [0, 1], by `seed`.
GraphFeatures RandomGraph(std::int64_t num_nodes, std::uint32_t seed);

/// The same graph with node i called `name[i]`.
GraphFeatures Renamed(const GraphFeatures& graph,
                      const std::vector<std::int64_t>& name);

/// All graphs with `num_statics` static features each, in [0, 1].
GraphBatch CollateAll(const std::vector<GraphFeatures>& graphs,
                      std::int64_t num_statics = 5);

/// The batch with float64 nodes and static features.
GraphBatch InDouble(GraphBatch batch);

/// float64 [rows, columns] of the given numbers.
at::Tensor Matrix(const std::vector<std::vector<double>>& rows);

/// Largest distance between the gradient of `loss` in `x` (float64) and its
/// central differences. `loss` gives one number.
double GradientError(const std::function<at::Tensor(const at::Tensor&)>& loss,
                     const at::Tensor& x);

}  // namespace foretell::learned
