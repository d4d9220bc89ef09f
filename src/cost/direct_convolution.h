#pragma once

#include <optional>

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Whether cuDNN 9.19 has no kernel on tensor cores for a convolution of 16
/// bits, so that it reads images as they lie.
bool IsDirectHalf(const Kernel& kernel, const Machine& machine);

/// Microseconds of a convolution for which cuDNN 9.19 has no kernel on tensor
/// cores, without copies of images; empty for all others.
std::optional<double> DirectConvolutionUs(const Kernel& kernel,
                                          const Machine& machine);

}  // namespace foretell::cost
