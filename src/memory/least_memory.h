#pragma once

#include <cstdint>

#include "foretell/memory.h"

namespace foretell::memory {

/// The CUDA context of `options` on its device, for a process that runs
/// `graph`: without cuDNN's kernels where nothing in it needs them.
std::int64_t ContextBytes(const OperatorGraph& graph,
                          const MemoryOptions& options);

}  // namespace foretell::memory
