#pragma once

#include <vector>

#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/graph.h"

namespace foretell::cost {

/// Use of the link between GPUs, or to the host, by a node.
struct LinkUse {
  double bytes = 0;  ///< Bytes that every GPU sends; 0: not an exchange.
  double hops = 0;   ///< Hops from GPU to GPU, one after another.
  std::vector<NodeId> waits_for;  ///< NodeCost::waits_for.
  bool is_of_host = false;        ///< The link is the host's.
  double host_us = 0;  ///< At least this long: the host computes meanwhile.
};

/// By node; empty without exchanges.
std::vector<LinkUse> LinkUses(const OperatorGraph& graph);

/// Microseconds of an exchange at `gb_s`, 10^9 bytes per second one way.
double LinkUs(const LinkUse& use, double gb_s);

/// 10^9 bytes per second one way of links that a step uses.
struct LinkSpeeds {
  double between_gpus = 0;  ///< Of `options`, else of the device.
  double to_host = 0;

  double Of(const LinkUse& use) const {
    return use.is_of_host ? to_host : between_gpus;
  }
};

/// Of the links that `uses` need, that between GPUs also for a GPU which only
/// receives; 0 for the others. Throws
/// Error(kInvalidArgument) if neither `options` nor the device has one between
/// GPUs.
LinkSpeeds SpeedsOf(const DeviceSpec& device, const CostOptions& options,
                    const std::vector<LinkUse>& uses);

}  // namespace foretell::cost
