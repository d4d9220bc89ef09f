#pragma once

#include <vector>

#include "foretell/cost.h"
#include "foretell/graph.h"

namespace foretell::cost {

/// CPU time of every node of `graph` until its kernel is queued, in
/// microseconds, of the runtime that it was rewritten for; `eager_us` has that
/// of PyTorch's dispatcher, which operators without a rewritten kernel, and the
/// optimizer, still go through. Returns `eager_us` for eager PyTorch.
std::vector<double> RuntimeDispatchUs(const OperatorGraph& graph,
                                      const CostOptions& options,
                                      std::vector<double> eager_us);

}  // namespace foretell::cost
