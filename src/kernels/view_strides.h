#pragma once

#include <optional>

#include "foretell/graph.h"
#include "src/kernels/strides.h"

namespace foretell::cost {

/// Strides of result `output` of the view `node`, whose first input has
/// `strides`; empty when the elements have to be copied for it, as a reshape
/// of a transposed tensor and `contiguous` do.
///
/// Views that are not in the table keep the strides when they keep the rank,
/// are reshapes when they keep the number of elements, and count as row-major
/// otherwise (diagonal, unfold).
///
/// Requires an input. Where the attributes do not fit the shapes, the node
/// counts as a view that is not in the table.
std::optional<Strides> StridesOfView(const OperatorGraph& graph,
                                     const Node& node, ValueId output,
                                     const Strides& strides);

}  // namespace foretell::cost
