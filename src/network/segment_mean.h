#pragma once

#include "src/network/segment_sum.h"

namespace foretell::learned {

/// Queues `sum` on a CUDA stream (a `cudaStream_t`); every pointer is device
/// memory of the current device. The segmented mean is the sum with
/// target_scale 1 / degree; its gradient is the sum over the transposed lists
/// with source_scale 1 / degree. Returns 0 or the `cudaError_t` of the launch;
/// nothing is waited for.
int LaunchSegmentSum(const SegmentSum<float>& sum, void* stream);

/// The text that belongs to an error of LaunchSegmentSum.
const char* CudaErrorText(int error);

}  // namespace foretell::learned
