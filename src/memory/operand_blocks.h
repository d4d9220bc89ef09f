#pragma once

#include <vector>

#include "foretell/graph.h"
#include "foretell/run.h"
#include "src/memory/workspace.h"

namespace foretell::memory {

/// Adds to each pass of `blocks`, and to the node's last, the copies that its
/// CUDA kernel makes of operands with strides (src/kernels/operand_copies.h):
/// they live until the operator returns. Copies that the trace shows are
/// storages of the graph. Keeps the blocks in the order of WorkspaceBlocks.
void AddOperandBlocks(const OperatorGraph& graph, const Node& node,
                      const TorchVersion& torch,
                      std::vector<WorkspaceBlock>& blocks);

}  // namespace foretell::memory
