#pragma once

#include "foretell/prediction.h"

namespace foretell {

/// What `estimate`, made on the same machine, waits for. Throws what
/// EstimateCost throws.
StepBound BoundOfStep(const CostEstimate& estimate, const DeviceSpec& device,
                      const CostOptions& options);

}  // namespace foretell
