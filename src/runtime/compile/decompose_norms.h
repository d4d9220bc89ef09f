#pragma once

#include "src/runtime/compile/primitive_emitter.h"

namespace foretell::runtime {

/// Adds the primitives of a norm, a softmax or a backward operator of one.
/// False, and nothing done, for every other operator.
bool DecomposeNorm(PrimitiveEmitter& emitter, const Node& node);

}  // namespace foretell::runtime
