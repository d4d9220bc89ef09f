#pragma once

#include <cstdint>

#include "foretell/graph.h"

namespace foretell {

/// The most bytes of storages that are alive at once, without an allocator's
/// rounding.
std::int64_t PeakOfLiveBytes(const OperatorGraph& graph);

}  // namespace foretell
