#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// What a convolution or its gradient computes, as that of a plain convolution:
/// a transposed one is the gradient of an input, whose gradient is a plain
/// convolution.
ProductPass PlainPass(const Kernel& kernel);

/// Whether the channels of every group are vectors of 16 bytes.
bool HasVectors(const Kernel& kernel);

/// Whether a convolution in groups has no kernel but those of
/// PaddedConvolutionUs: with cuDNN 9.10, groups that a tile holds or, up to 64
/// channels, that are no vectors.
bool HasPaddedGroups(const Kernel& kernel, const Machine& machine);

/// Microseconds of a product on tensor cores by cuDNN 9.19, without copies of
/// images, if its channels are padded to the tiles that it has; of one without
/// groups the least that it takes.
double PaddedConvolutionUs(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
