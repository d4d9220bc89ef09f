#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "foretell/graph.h"

namespace foretell::memory {

/// True for nodes whose first execution makes LibTorch create the cuBLAS
/// handle and its workspace: linear layers, matrix products, einsum.
bool UsesCublas(const Node& node);

/// Scratch memory of one pass of a node: taken once the node's output `output`
/// has been allocated, freed before the next output is.
struct WorkspaceBlock {
  std::size_t output = 0;
  std::int64_t bytes = 0;  ///< Above 0.
};

/// The blocks of a node in the order in which they live, by ascending output;
/// empty for nodes without a workspace.
std::vector<WorkspaceBlock> WorkspaceBlocks(const OperatorGraph& graph,
                                            const Node& node);

}  // namespace foretell::memory
