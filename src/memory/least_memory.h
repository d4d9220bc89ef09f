#pragma once

#include <cstdint>

#include "foretell/memory.h"

namespace foretell::memory {

/// The CUDA context of `options` on its device, for a process that runs
/// `passes`: without cuDNN's kernels if it does not need them, with its cuBLAS
/// handles and recorded CUDA graphs.
std::int64_t ContextBytes(const PassSequence& passes,
                          const MemoryOptions& options);

/// Part of the context used by cuBLAS handles, in MiB.
double CublasHandlesMib(const PassSequence& passes,
                        const MemoryOptions& options);

}  // namespace foretell::memory
