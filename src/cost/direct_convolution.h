#pragma once

#include <optional>

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Whether cuDNN 9.19 runs a kernel on FP32 lanes of Hopper that reads images
/// as they lie, channels-last ones of f32 excepted.
bool ReadsImagesDirectly(const Kernel& kernel, const Machine& machine);

/// Microseconds of a convolution, or of the gradient of its input, that such a
/// kernel computes, without copies of images; empty for all others.
std::optional<double> DirectConvolutionUs(const Kernel& kernel,
                                          const Machine& machine);

}  // namespace foretell::cost
