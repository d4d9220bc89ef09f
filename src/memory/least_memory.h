#pragma once

#include <cstdint>

#include "foretell/memory.h"

namespace foretell::memory {

/// The CUDA context of `options` on its device, for a process that runs
/// `graph`: without cuDNN's kernels where nothing in it needs them, with its
/// handles of cuBLAS.
std::int64_t ContextBytes(const OperatorGraph& graph,
                          const MemoryOptions& options);

/// What cuBLAS's handles use of it, in MiB.
double CublasHandlesMib(const OperatorGraph& graph,
                        const MemoryOptions& options);

}  // namespace foretell::memory
