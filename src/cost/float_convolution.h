#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Microseconds of arithmetic of a convolution on FP32 lanes, computed as an
/// implicit matrix product; for Winograd's algorithms see WinogradUs. Not for
/// depthwise convolutions.
///
/// Throws Error(kInvalidArgument) that names the device when it has no peak
/// rate for FP32.
double FloatConvolutionUs(const Kernel& kernel, const Machine& machine);

/// Share of the full rate on FP32 lanes if channels are not a multiple of four,
/// for any algorithm; 1 for all others, and for images.
double ChannelShare(const Kernel& kernel);

}  // namespace foretell::cost
