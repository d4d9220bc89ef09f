#pragma once

#include <optional>

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Channels that a group of images sums over at most where cuDNN 9.19 has other
/// kernels than those for one group (H100: kinds.jsonl.gz, drawn.jsonl.gz).
inline constexpr double kFewImageChannels = 16;

/// Whether a kernel of cuDNN 9.19 for FP32 lanes computes the gradient of an
/// input one group after the other: of images in few groups. Requires the
/// gradient of an input in f32.
bool HasGroupTiles(const Kernel& kernel);

/// Whether cuDNN 9.19, in groups 9.10, runs a kernel on FP32 lanes of Hopper
/// that reads images as they lie, channels-last ones of f32 excepted.
bool ReadsImagesDirectly(const Kernel& kernel, const Machine& machine);

/// Microseconds of a convolution, or of the gradient of its input, that such a
/// kernel computes, without copies of images; empty for all others.
std::optional<double> DirectConvolutionUs(const Kernel& kernel,
                                          const Machine& machine);

}  // namespace foretell::cost
