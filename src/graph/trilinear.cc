#include "src/graph/trilinear.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace foretell {
namespace {

/// `shape` with its leading dimensions as one, down to `rank`.
std::optional<Shape> WithRank(const Shape& shape, std::size_t rank) {
  if (shape.size() < rank || rank == 0) return std::nullopt;
  const auto kept = shape.end() - static_cast<std::ptrdiff_t>(rank - 1);
  Shape result = {
      std::accumulate(shape.begin(), kept, std::int64_t{1}, std::multiplies{})};
  result.insert(result.end(), kept, shape.end());
  return result;
}

/// Adds an operand of `shape`; false where it does not fit.
bool AddOperand(const std::vector<std::int64_t>& expanded, const Shape& shape,
                Shape& extents) {
  if (expanded.size() + shape.size() != extents.size()) return false;
  std::size_t place = 0;
  for (std::int64_t dim = 0; dim < std::ssize(extents); ++dim) {
    if (std::ranges::count(expanded, dim) > 0) continue;
    if (place == shape.size()) return false;
    std::int64_t& extent = extents[static_cast<std::size_t>(dim)];
    const std::int64_t size = shape[place++];
    if (extent > 1 && size > 1 && extent != size) return false;
    extent = std::max(extent, size);
  }
  return place == shape.size();
}

}  // namespace

std::optional<Shape> TrilinearExtents(const Node& node,
                                      const std::array<Shape, 3>& shapes) {
  constexpr std::array kExpanded = {"expand1", "expand2", "expand3"};
  const std::size_t rank =
      node.Ints(kExpanded[1], {}).size() + shapes[1].size();
  Shape extents(rank, 0);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<std::int64_t> expanded = node.Ints(kExpanded[i], {});
    if (expanded.size() > rank) return std::nullopt;
    const auto shape = WithRank(shapes[i], rank - expanded.size());
    if (!shape || !AddOperand(expanded, *shape, extents)) return std::nullopt;
  }
  return extents;
}

}  // namespace foretell
