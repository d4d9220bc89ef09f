#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Channels of a group that a result or the gradient of an input sums over.
double SummedChannels(const Kernel& kernel);

/// Whether a convolution computes the gradient of an input through a stride: a
/// transposed one forward, any other one backward.
bool GoesThroughStride(const Kernel& kernel);

/// Microseconds of such a product on tensor cores, without copies of images.
double StridedGradientUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
