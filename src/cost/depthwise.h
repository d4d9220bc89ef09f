#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Time of a depthwise convolution by cuDNN's kernel, which alternates loads
/// and products; other classes overlap them.
double CudnnDepthwiseUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
