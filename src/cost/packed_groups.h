#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Whether cuDNN 9.10 runs a convolution of f32 on FP32 lanes group by group on
/// copies of their channels.
bool PacksGroups(const Kernel& kernel, const Machine& machine);

/// Microseconds of these copies, of the input and of the result.
double PackedGroupsUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
