#pragma once

#include <cstdint>
#include <vector>

#include "foretell/device.h"
#include "foretell/graph.h"

namespace foretell::memory {

/// Bytes of the tensors that ATen's CUDA kernel of `node` allocates on `device`
/// once its results are, and frees before it returns: in the order of
/// allocation, each above 0. Empty for an operator that allocates none, and for
/// convolutions, whose workspaces are cuDNN's.
std::vector<std::int64_t> ScratchTensors(const Node& node,
                                         const OperatorGraph& graph,
                                         const DeviceSpec& device);

}  // namespace foretell::memory
