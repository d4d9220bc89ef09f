#pragma once

#include <vector>

#include "foretell/graph.h"
#include "foretell/run.h"

namespace foretell::cost {

/// By node: whether it launches a product that PyTorch leaves to cuBLAS, for
/// which it needs a handle and that handle's workspace. Read off ExpandKernels,
/// so that products inside of an operator count and an einsum that multiplies
/// element by element does not. Products of a whole recurrent layer and of a
/// convolution are cuDNN's; those of sparse matrices cuSPARSE's.
///
/// Throws as ExpandKernels.
std::vector<bool> CublasNodes(const OperatorGraph& graph, const Run& run);

}  // namespace foretell::cost
