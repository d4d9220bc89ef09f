#pragma once

#include <cstdint>

#include "foretell/memory.h"

namespace foretell::memory {

/// The CUDA context of `options` on its device.
std::int64_t ContextBytes(const MemoryOptions& options);

}  // namespace foretell::memory
