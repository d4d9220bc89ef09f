#pragma once

#include <cstdint>

#include "foretell/graph.h"
#include "foretell/memory.h"

namespace foretell::memory {

/// What the training step of `graph` reserves more than it would with SGD and
/// momentum, in bytes; negative where it is less. That optimizer keeps one
/// state as large as its parameters and makes no temporaries; the step is
/// otherwise the same. The context and the limit of `options` are not used.
///
/// A network that has learned from labels of one optimizer predicts with this
/// what another needs.
std::int64_t ReservedBeyondMomentum(const OperatorGraph& graph,
                                    MemoryOptions options);

}  // namespace foretell::memory
