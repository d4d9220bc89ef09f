#pragma once

#include <cstdint>

#include "foretell/graph.h"

namespace foretell {

/// The most bytes of storages that are alive at once, without an allocator's
/// rounding.
std::int64_t PeakOfLiveBytes(const OperatorGraph& graph);

/// Bytes of all storages of `role`, whether or not they live at once.
std::int64_t BytesOfRole(const OperatorGraph& graph, TensorRole role);

}  // namespace foretell
