#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Microseconds that the threads of a pooling need for the elements of their
/// windows. Requires a pooling that describe_pool.cc gave threads.
double PoolUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
