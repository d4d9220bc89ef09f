#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "foretell/graph.h"
#include "src/graph/operands.h"

namespace foretell {

/// The dimensions of a sum of products of three tensors, as in PyTorch's
/// `_trilinear`: every operand lacks those that it is expanded along.
struct Trilinear {
  static constexpr std::size_t kOperands = 3;

  /// By operand: the dimensions that it has, in order.
  std::array<std::vector<std::int64_t>, kOperands> dims;
  /// By operand: its shape, the leading dimensions as one where `bilinear` had
  /// flattened them: a gradient reads what it kept of an input, whose recorded
  /// shape is the input's own.
  std::array<Shape, kOperands> shapes;
  Shape extents;                     ///< Of all dimensions.
  std::vector<std::int64_t> summed;  ///< Those that the result lacks.
  std::int64_t unrolled = 0;         ///< That of the loop.
};

/// Reads the attributes of a `_trilinear`; empty if they do not fit the shapes
/// of its operands.
std::optional<Trilinear> ReadTrilinear(
    const Node& node, const std::array<Shape, Trilinear::kOperands>& shapes);

}  // namespace foretell
