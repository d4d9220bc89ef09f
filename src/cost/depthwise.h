#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Time of a depthwise convolution by cuDNN's kernel, which loads and
/// multiplies in turn; the other classes do both at a time.
double CudnnDepthwiseUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
