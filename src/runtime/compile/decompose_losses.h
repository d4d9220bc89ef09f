#pragma once

#include "foretell/graph.h"
#include "src/runtime/compile/primitive_emitter.h"

namespace foretell::runtime {

/// Adds the primitives of a negative log-likelihood without weights of classes,
/// or of its backward operator: that is computed element by element where
/// `fuses_scatters`, else a scatter into memory. False, and nothing added, for
/// any other node.
bool DecomposeLoss(PrimitiveEmitter& emitter, const Node& node,
                   bool fuses_scatters);

}  // namespace foretell::runtime
