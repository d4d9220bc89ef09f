#pragma once

#include <cstdint>
#include <span>

#include "foretell/graph.h"

namespace foretell::cost {

/// Steps that one thread of an interpolating upsampling makes one after the
/// other: batch times channels of `shape`, that of the result. PyTorch's
/// kernels for contiguous images
/// (aten/src/ATen/native/cuda/UpSampleBilinear2d.cu and its like) have a thread
/// per position of the result, whatever the batch, and take two steps for a
/// bicubic result and three for a trilinear one; those of "nearest" and of
/// channels-last images have one per element, and get 0, as does every other
/// node.
std::int64_t SerialSteps(const Node& node, std::span<const std::int64_t> shape,
                         bool channels_last);

/// Time of such a kernel by its steps alone, in microseconds; `positions` of
/// the result per image and channel. 0.3 us per step, from EfficientFormerV2's
/// published latencies on four GPUs (0.27 to 0.40), for as many threads as fit
/// on `sms` multiprocessors at once.
double SerialUs(std::int64_t steps, std::int64_t positions, int sms);

}  // namespace foretell::cost
