#include "src/graph/trilinear.h"

#include <algorithm>
#include <cstddef>

namespace foretell {
namespace {

/// Adds an operand of `shape`; false where it does not fit.
bool AddOperand(const std::vector<std::int64_t>& expanded, const Shape& shape,
                std::vector<std::int64_t>& dims, Shape& extents) {
  if (expanded.size() + shape.size() != extents.size()) return false;
  for (std::int64_t dim = 0; dim < std::ssize(extents); ++dim) {
    if (std::ranges::count(expanded, dim) > 0) continue;
    if (dims.size() == shape.size()) return false;
    std::int64_t& extent = extents[static_cast<std::size_t>(dim)];
    extent = std::max(extent, shape[dims.size()]);
    dims.push_back(dim);
  }
  return dims.size() == shape.size();
}

}  // namespace

std::optional<Trilinear> ReadTrilinear(
    const Node& node, const std::array<Shape, Trilinear::kOperands>& shapes) {
  constexpr std::array kExpanded = {"expand1", "expand2", "expand3"};
  Trilinear result;
  result.extents.assign(node.Ints(kExpanded[0], {}).size() + shapes[0].size(),
                        0);
  for (std::size_t i = 0; i < Trilinear::kOperands; ++i) {
    if (!AddOperand(node.Ints(kExpanded[i], {}), shapes[i], result.dims[i],
                    result.extents)) {
      return std::nullopt;
    }
  }
  result.summed = node.Ints("sumdim", {});
  result.unrolled = node.Int("unroll_dim", 1);
  if (result.unrolled < 0 || result.unrolled >= std::ssize(result.extents)) {
    return std::nullopt;
  }
  return result;
}

Trilinear BilinearDims(const Shape& left, const Shape& weight) {
  return {.dims = {{{0, 2}, {1, 2, 3}, {0, 3}}},
          .extents = {left.front(), weight[0], weight[1], weight[2]},
          .summed = {2, 3},
          .unrolled = 1};
}

}  // namespace foretell
