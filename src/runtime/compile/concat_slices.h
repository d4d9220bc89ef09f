#pragma once

#include "foretell/graph.h"

namespace foretell::runtime {

/// Replaces each concatenation in `graph`, of primitives, that has too many
/// operands for one loop: loops write its slices into one storage, of which an
/// `alias` is the whole.
OperatorGraph WriteConcatSlices(const OperatorGraph& graph);

/// Whether `node` is such an `alias`: the whole of slices written before it.
bool JoinsSlices(const OperatorGraph& graph, const Node& node);

}  // namespace foretell::runtime
