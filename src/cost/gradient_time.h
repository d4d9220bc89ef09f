#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Microseconds of a backward operator's own kernels, one after the other:
/// zeros, where it adds to them, and what its threads and blocks need, but at
/// least the time of its bytes. Requires IsGradientLoop(kernel.loop).
double GradientUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
