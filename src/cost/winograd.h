#pragma once

#include <optional>

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Time of a convolution, or of a gradient of one, by the faster of Winograd's
/// algorithms, its traffic included; empty for a kernel that cannot use it: all
/// except convolutions of 3 x 3 with stride 1, in one group, on FP32 lanes.
std::optional<double> WinogradUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
