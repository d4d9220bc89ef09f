#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/features/terms.h"
#include "src/network/network.h"
#include "src/network/term_batch.h"

namespace foretell::learned {

/// Zeros for static features of a graph of terms.
const std::vector<float>& NoStatics();

/// A small network over the terms of a set, for graphs with NoStatics().
NetworkOptions TermOptions(TermSet terms);
/// Such a network, for predicting.
std::shared_ptr<Network> TermNetworkOf(TermSet terms);

/// Draws every parameter anew, so that no correction is 0.
void RandomizeTerms(Network& network, bool with_classes = true);

/// Kernels of the given classes and amounts with random features and without
/// edges.
TermTable ToyKernels(const std::vector<std::int32_t>& classes,
                     const std::vector<float>& amounts, unsigned seed = 1);

/// A batch of these tables with NoStatics().
GraphBatch CollateTables(const std::vector<TermTable>& tables, TermSet terms);

/// What the network says of one table.
double PredictOne(Network& network, const TermTable& table, TermSet terms);

/// Steps of gradient descent on all that the network supervises, until it
/// answers `wanted`, [num_graphs, 1].
void DescendTo(const at::Tensor& wanted, const GraphBatch& batch, int steps,
               Network& network);

}  // namespace foretell::learned
