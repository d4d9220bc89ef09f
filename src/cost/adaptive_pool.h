#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// True for an adaptive pooling that is no mean (describe_pool.cc).
bool IsAdaptivePool(const Kernel& kernel);

/// Microseconds that its threads need for the elements of their windows.
/// Requires IsAdaptivePool.
double AdaptivePoolUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
