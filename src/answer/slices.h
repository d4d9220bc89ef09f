#pragma once

#include <vector>

#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/prediction.h"
#include "src/cost/launched_step.h"

namespace foretell {

/// Estimates `step` on every MIG profile of `device`, in their
/// order, and compares with `whole`, its estimate with `options`.
///
/// A slice is a machine of its own, with the profile's SMs and share of the
/// bandwidth instead of those of `options`. The CPU that dispatches is the
/// same. Throws what EstimateCost throws.
std::vector<SliceRatio> CompareSlices(const cost::LaunchedStep& step,
                                      const DeviceSpec& device,
                                      const CostOptions& options,
                                      const CostEstimate& whole);

}  // namespace foretell
