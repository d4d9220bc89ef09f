#pragma once

#include "foretell/graph.h"

namespace foretell::runtime {

/// `graph`, of primitives, with every concatenation of more operands than one
/// loop reads as the loops that write its slices, and an `alias` of those that
/// is the whole.
OperatorGraph WriteConcatSlices(const OperatorGraph& graph);

/// Whether `node` is the whole of slices that were written before it.
bool JoinsSlices(const OperatorGraph& graph, const Node& node);

}  // namespace foretell::runtime
