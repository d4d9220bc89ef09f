#pragma once

#include <ATen/core/Tensor.h>

#include "src/network/segment_ops.h"

namespace foretell::learned {

/// One head of graph attention. With the node itself counted among its
/// producers j, and leaky(e) = e for e > 0, else 0.2 e:
///
///     w_ij = softmax over j of leaky(target_i + source_j)
///     out_i = Σ_j w_ij · z_j
///
/// `z` is [num_nodes, f], `source` and `target` are [num_nodes], all float32 or
/// all float64; of `edges` only the lists are read. Returns [num_nodes, f].
/// Differentiable once in all three; on the CPU the same bits in every run.
at::Tensor AttendToProducers(const at::Tensor& z, const at::Tensor& source,
                             const at::Tensor& target,
                             const Aggregation& edges);

}  // namespace foretell::learned
