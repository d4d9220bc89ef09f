#pragma once

#include <cstdint>

#include "foretell/graph.h"
#include "foretell/memory.h"

namespace foretell::memory {

/// Reserved bytes of the training step of `graph` minus those with SGD and
/// momentum. That optimizer has one state of the size of its parameters and no
/// temporaries; the step is otherwise the same. The context and the limit of
/// `options` are not used.
///
/// Adapts a network trained on labels of one optimizer to another.
std::int64_t ReservedBeyondMomentum(const OperatorGraph& graph,
                                    MemoryOptions options);

}  // namespace foretell::memory
