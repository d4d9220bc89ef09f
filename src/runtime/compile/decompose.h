#pragma once

#include "foretell/graph.h"
#include "foretell/runtime.h"

namespace foretell::runtime {

/// The step as Inductor sees it after AOTAutograd: primitives without a
/// composite, in-place operators that return new tensors (but those on
/// parameters, buffers and optimizer states), images channels-last if
/// PrefersChannelsLast. The optimizer stays as it is. Lifetimes are derived.
OperatorGraph Decompose(const OperatorGraph& graph, const RuntimeSpec& spec);

}  // namespace foretell::runtime
