#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Share of its peak at which a machine multiplies by Ampere's instruction: 1,
/// but 0.63 for convolutions and fused attention on Hopper and B200.
double InstructionShare(const Kernel& kernel, const Machine& machine);

/// Share of the tiled estimate of its implicit product (gemm.h) at which a
/// convolution runs on tensor cores.
double TensorConvolutionShare(const Kernel& kernel, const Machine& machine);

/// Microseconds of the copies into the channels-last layout and back that cuDNN
/// makes of the images of a convolution on tensor cores; 0 for all others.
double ConversionUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
