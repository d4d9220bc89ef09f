#pragma once

#include "foretell/graph.h"

namespace foretell::runtime {

/// The kernels of a step of primitives (Decompose), as Inductor schedules them.
/// Nodes are fused_elementwise, fused_reduce and what libraries run
/// (src/runtime/README.md), between views; lifetimes are derived.
OperatorGraph Fuse(const OperatorGraph& graph);

}  // namespace foretell::runtime
