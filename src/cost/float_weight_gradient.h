#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Whether a convolution's kernel on FP32 lanes computes the gradient of a
/// weight of f32 with cuDNN 9.19 on Hopper: of volumes, or of images without
/// groups.
bool HasFloatWeightKernels(const Kernel& kernel, const Machine& machine);

/// Microseconds of such a gradient.
double FloatWeightGradientUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
