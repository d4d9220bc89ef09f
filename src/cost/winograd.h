#pragma once

#include <optional>

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Time of a convolution by Winograd's algorithm, its traffic included; empty
/// for a kernel that cannot take it: all but forward convolutions of 3 x 3 with
/// stride 1, in one group, on FP32 lanes.
std::optional<double> WinogradUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
