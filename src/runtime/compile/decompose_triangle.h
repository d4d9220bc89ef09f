#pragma once

#include "foretell/graph.h"
#include "src/runtime/compile/primitive_emitter.h"

namespace foretell::runtime {

/// Adds the primitives of tril or triu. False, and nothing added, for every
/// other node.
bool DecomposeTriangle(PrimitiveEmitter& emitter, const Node& node);

}  // namespace foretell::runtime
