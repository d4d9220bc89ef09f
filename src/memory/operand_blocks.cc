#include "src/memory/operand_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "src/kernels/operand_copies.h"

namespace foretell::memory {

void AddOperandBlocks(const OperatorGraph& graph, const Node& node,
                      const TorchVersion& torch,
                      std::vector<WorkspaceBlock>& blocks) {
  std::set<std::size_t> outputs = {node.outputs.size() - 1};
  for (const WorkspaceBlock& block : blocks) outputs.insert(block.output);
  const cost::Tensors tensors(graph);
  for (const cost::OperandCopy& copy :
       cost::OperandCopies(graph, node, {.torch = torch})) {
    const std::int64_t bytes = cost::CopyBytes(tensors, copy.operand);
    if (copy.traced || bytes == 0) continue;
    for (const std::size_t output : outputs) {
      blocks.push_back({output, bytes, false});
    }
  }
  std::ranges::stable_sort(blocks, {}, &WorkspaceBlock::output);
}

}  // namespace foretell::memory
