#pragma once

#include <cstdint>

#include "foretell/device.h"
#include "foretell/graph.h"

namespace foretell::memory {

/// Bytes of GPU memory that NCCL uses for the exchanges of the step, with GPUs
/// of one machine; 0 without exchanges, and without NVLink, where data go
/// through host memory.
std::int64_t LinkBufferBytes(const OperatorGraph& graph,
                             const DeviceSpec& device);

}  // namespace foretell::memory
