#pragma once

#include <ATen/core/Tensor.h>

#include "src/network/graph_batch.h"
#include "src/network/pooling.h"

namespace foretell::learned {

/// A linear map between the nodes of a batch, the same for every feature:
///
///     (A x)_i = own_scale_i · x_i
///             + target_scale_i · Σ_{j → i} source_scale_j · x_j
///
/// Scales are float32 or float64 [num_nodes] on the lists' device; an undefined
/// one counts as 1. Without `adds_own` the first term is absent.
struct Aggregation {
  NeighbourLists incoming;
  NeighbourLists outgoing;  ///< The same edges turned round, for gradients.
  bool adds_own = false;
  at::Tensor own_scale;
  at::Tensor source_scale;
  at::Tensor target_scale;
};

/// Only the lists: the sum over producers.
Aggregation SumOfProducers(const GraphBatch& batch);
/// The mean over producers; 0 for a node without any.
Aggregation MeanOfProducers(const GraphBatch& batch);
/// A node and the sum over its producers.
Aggregation SumWithSelf(const GraphBatch& batch);
/// With d_i = 1 + number of producers: Σ x_j / √(d_i d_j) over the producers
/// and the node itself.
Aggregation SymmetricMean(const GraphBatch& batch);

/// A x: floating point [num_nodes, f] of x's type; 16-bit x comes back as
/// float32. Differentiable once in x, and the same bits in every run and with
/// any number of threads. On a GPU a build without FORETELL_WITH_CUDA adds with
/// ATen's atomics instead.
at::Tensor Aggregate(const at::Tensor& x, const Aggregation& aggregation);

/// Rows of `x` ([num_nodes, f]) put together by graph: [num_graphs, f].
/// `graph_begin` as in GraphBatch; every graph has a node; 16-bit x comes back
/// as float32. Differentiable once.
at::Tensor PoolGraphs(const at::Tensor& x, const at::Tensor& graph_begin,
                      Pooling pooling);

/// Dropout(ReLU(x)) in place: `x` is overwritten and must not be a leaf that
/// needs a gradient; elements are kept with probability 1 - `probability` and
/// then scaled by its inverse. On the CPU the elements depend on one draw from
/// the default generator, not on the thread count. Pass 0 outside training.
at::Tensor ReluDropout(at::Tensor x, double probability);

}  // namespace foretell::learned
