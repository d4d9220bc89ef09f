#pragma once

#include <cstdint>

#include "foretell/device.h"
#include "foretell/graph.h"

namespace foretell::memory {

/// Bytes of device memory in which the blocks of a reduction leave their
/// partial results; 0 for a node that is none, or whose outputs a block each
/// reduces alone.
std::int64_t ReductionBufferBytes(const Node& node, const OperatorGraph& graph,
                                  const DeviceSpec& device);

}  // namespace foretell::memory
