#pragma once

#include "foretell/graph.h"

namespace foretell::runtime {

/// Writes each primitive that Inductor lowers to two loops as two nodes:
/// reductions with too few rows to fill the GPU, whose parts a second one adds
/// up, and scatters, whose result is set before values are added to it. Roles
/// and lifetimes stay; lifetimes of what is new are derived.
OperatorGraph SplitLoops(const OperatorGraph& graph);

}  // namespace foretell::runtime
