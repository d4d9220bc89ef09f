#pragma once

#include <string_view>
#include <vector>

#include "foretell/cost.h"
#include "foretell/device.h"

namespace foretell::learned {

/// Columns that NodeCosts adds to the features of a node.
inline constexpr int kNumNodeCosts = 8;

/// The cost model's estimates for every operator of a graph on a device, as
/// input of a network.
struct NodeCosts {
  std::vector<float> columns;  ///< [num_nodes, kNumNodeCosts], about 0 to 1.
  /// [num_nodes], each node's share of the time in which the GPU is busy. They
  /// add up to 1; all are 0 when no node has a kernel.
  std::vector<float> shares;
};

/// Names of the columns, in their order.
std::vector<std::string_view> NodeCostNames();

/// At the full clock, ignoring the power limit, whose effect is learned. Throws
/// Error(kInvalidArgument) as EstimateCost does.
NodeCosts NodeCostsOf(const OperatorGraph& graph, const DeviceSpec& device,
                      const CostOptions& options);

}  // namespace foretell::learned
