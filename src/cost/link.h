#pragma once

#include <vector>

#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/graph.h"

namespace foretell::cost {

/// Use of the link between GPUs by a node.
struct LinkUse {
  double bytes = 0;  ///< Bytes that every GPU sends; 0: not an exchange.
  double hops = 0;   ///< Hops from GPU to GPU, one after another.
  std::vector<NodeId> waits_for;  ///< NodeCost::waits_for.
};

/// By node; empty without exchanges.
std::vector<LinkUse> LinkUses(const OperatorGraph& graph);

/// Microseconds of an exchange at `gb_s`, 10^9 bytes per second one way.
double LinkUs(const LinkUse& use, double gb_s);

/// The link of `options`, else of the device. Throws Error(kInvalidArgument)
/// if neither has one.
double LinkGbS(const DeviceSpec& device, const CostOptions& options);

}  // namespace foretell::cost
