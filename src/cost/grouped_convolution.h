#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Whether a convolution runs in groups as GroupedConvolutionUs knows them:
/// results or gradients of inputs by cuDNN 9.19 on Hopper.
bool HasPaddedGroups(const Kernel& kernel, const Machine& machine);

/// Microseconds of such a product on tensor cores, without copies of images.
double GroupedConvolutionUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
