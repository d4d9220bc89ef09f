#pragma once

#include "foretell/graph.h"

namespace foretell::memory {

/// True for nodes whose first execution makes LibTorch create the cuBLAS
/// handle and its workspace: linear layers, matrix products, einsum.
bool UsesCublas(const Node& node);

}  // namespace foretell::memory
