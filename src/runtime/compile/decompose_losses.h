#pragma once

#include "src/runtime/compile/primitive_emitter.h"

namespace foretell::runtime {

/// Adds what the negative log-likelihood or its gradient consists of; false if
/// `node` is neither.
bool DecomposeLoss(PrimitiveEmitter& emitter, const Node& node);

}  // namespace foretell::runtime
