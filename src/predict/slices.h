#pragma once

#include <vector>

#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/predictor.h"

namespace foretell::learned {

/// Estimates the step of `graph` on every MIG profile of `device`, in their
/// order, and compares with `whole`, its estimate with `options`.
///
/// A slice is a machine of its own, with the profile's SMs and share of the
/// bandwidth in the place of those of `options`. The CPU that dispatches is the
/// same. Throws what EstimateCost throws.
std::vector<SliceRatio> CompareSlices(const OperatorGraph& graph,
                                      const DeviceSpec& device,
                                      const CostOptions& options,
                                      const CostEstimate& whole);

}  // namespace foretell::learned
