#pragma once

#include "foretell/graph.h"

namespace foretell::runtime {

/// The inference `graph`, of primitives, as Inductor's freezing leaves it: what
/// is computed of constants alone is a constant, kept as a buffer from call to
/// call; convolutions take the constants behind them, linear layers of one
/// operand become one. Parameters stay unless the runtime discards them, which
/// leaves those that something still reads.
OperatorGraph Freeze(const OperatorGraph& graph);

}  // namespace foretell::runtime
