#pragma once

#include <c10/core/Device.h>

#include "src/network/segment_sum.h"

namespace foretell::learned {

/// Whether this build has the CUDA kernel (CMake's FORETELL_WITH_CUDA).
bool HasDeviceSum();

/// Queues `sum` on the current stream of a CUDA device. Throws Error(kInternal)
/// when the launch fails, and without HasDeviceSum().
void RunDeviceSum(const SegmentSum<float>& sum, const c10::Device& device);

}  // namespace foretell::learned
