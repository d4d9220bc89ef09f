#pragma once

#include "foretell/predictor.h"
#include "src/cost/launched_step.h"

namespace foretell {

/// Lets learned latency and energy of `prediction`, which are of the board's
/// own power limit, follow the limit of `options`, as the two analytic
/// estimates of the step say. Analytic figures know the limit already. Throws
/// what EstimateCost throws.
void FollowPowerLimit(const cost::LaunchedStep& step, const DeviceSpec& device,
                      const CostOptions& options, Prediction& prediction);

}  // namespace foretell
