#pragma once

#include "foretell/prediction.h"
#include "src/cost/launched_step.h"

namespace foretell {

/// Scales learned latency and energy of `prediction`, which are of the board's
/// own power limit, to the limit of `options`, by the ratio of the two analytic
/// estimates of the step. Analytic figures include the limit already. Throws
/// what EstimateCost throws.
void FollowPowerLimit(const cost::LaunchedStep& step, const DeviceSpec& device,
                      const CostOptions& options, Prediction& prediction);

}  // namespace foretell
