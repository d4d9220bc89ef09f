#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Microseconds of arithmetic of a convolution on FP32 lanes, computed directly
/// as its implicit product; WinogradUs has the other way. Depthwise ones do not
/// come here.
///
/// Throws Error(kInvalidArgument) that names the device when it has no peak
/// rate for FP32.
double FloatConvolutionUs(const Kernel& kernel, const Machine& machine);

/// Share of the full rate at which channels that do not come in fours run on
/// FP32 lanes, whatever the algorithm; 1 for all others, and for images.
double ChannelShare(const Kernel& kernel);

}  // namespace foretell::cost
