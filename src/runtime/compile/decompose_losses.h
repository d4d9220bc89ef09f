#pragma once

#include "foretell/graph.h"
#include "src/runtime/compile/primitive_emitter.h"

namespace foretell::runtime {

/// Adds the primitives of a negative log-likelihood without weights of classes,
/// or of its backward operator. False, and nothing added, for any other node.
bool DecomposeLoss(PrimitiveEmitter& emitter, const Node& node);

}  // namespace foretell::runtime
