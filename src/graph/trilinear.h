#pragma once

#include <array>
#include <optional>

#include "foretell/graph.h"
#include "src/graph/operands.h"

namespace foretell {

/// Extents of all dimensions of a sum of products of three tensors, PyTorch's
/// `_trilinear`, whose operands lack those that they are expanded along. Empty
/// where these do not fit the shapes of the operands.
///
/// An operand may have more dimensions than it should: `bilinear` had flattened
/// the leading ones, and a gradient reads what it kept of an input, whose
/// recorded shape is the input's own.
std::optional<Shape> TrilinearExtents(const Node& node,
                                      const std::array<Shape, 3>& shapes);

}  // namespace foretell
