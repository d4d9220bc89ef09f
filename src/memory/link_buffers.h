#pragma once

#include <cstdint>

#include "foretell/device.h"
#include "foretell/graph.h"

namespace foretell::memory {

/// Bytes that NCCL uses of a GPU for the exchanges of the step; 0 if it has no
/// exchanges, and without NVLink, where data go through the host's memory. GPUs
/// of one machine.
std::int64_t LinkBufferBytes(const OperatorGraph& graph,
                             const DeviceSpec& device);

}  // namespace foretell::memory
