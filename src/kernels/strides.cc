#include "src/kernels/strides.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>

namespace foretell::cost {
namespace {

constexpr std::size_t kChannelsLastRank = 4;
/// Dimensions of an image batch from the innermost of channels-last outwards.
constexpr std::array<std::size_t, kChannelsLastRank> kChannelsLastOrder = {
    1, 3, 2, 0};

/// Elements at equal distances.
struct StridedRun {
  std::int64_t size = 1;
  std::int64_t stride = 1;
};

/// Row-major strides over dimensions from the innermost on.
template <typename Order>
Strides StridesInOrder(const Shape& shape, const Order& innermost_first) {
  Strides strides(shape.size());
  std::int64_t step = 1;
  for (const std::size_t dim : innermost_first) {
    strides[dim] = step;
    step *= std::max<std::int64_t>(shape[dim], 1);
  }
  return strides;
}

std::vector<std::size_t> InnermostFirst(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

/// Merges dimensions that follow on each other in memory, outermost first.
std::vector<StridedRun> MergedRuns(const Shape& shape, const Strides& strides) {
  std::vector<StridedRun> runs;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 1) continue;
    const StridedRun next = {shape[dim], strides[dim]};
    const bool follows =
        !runs.empty() && runs.back().stride == next.size * next.stride;
    if (follows) {
      runs.back() = {runs.back().size * next.size, next.stride};
    } else {
      runs.push_back(next);
    }
  }
  return runs;
}

}  // namespace

std::int64_t NumElements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

std::int64_t ProductBefore(const Shape& shape, std::size_t dims_left) {
  return NumElements(
      {shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(
                                        std::min(dims_left, shape.size()))});
}

Strides ContiguousStrides(const Shape& shape) {
  return StridesInOrder(shape, InnermostFirst(shape.size()));
}

Strides ChannelsLastStrides(const Shape& shape) {
  if (shape.size() != kChannelsLastRank) return ContiguousStrides(shape);
  return StridesInOrder(shape, kChannelsLastOrder);
}

Strides DenseStridesLike(const Shape& shape, const Strides& strides) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  const auto distance = [&](std::size_t dim) {
    return shape[dim] > 1 ? strides[dim]
                          : std::numeric_limits<std::int64_t>::max();
  };
  std::ranges::stable_sort(order, std::greater<>(), distance);
  std::ranges::reverse(order);
  return StridesInOrder(shape, order);
}

bool HaveSameOrder(const Shape& shape, const Strides& left,
                   const Strides& right) {
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] != 1 && left[dim] != right[dim]) return false;
  }
  return true;
}

bool IsContiguous(const Shape& shape, const Strides& strides) {
  return HaveSameOrder(shape, strides, ContiguousStrides(shape));
}

bool FitsChannelsLast(const Shape& shape, const Strides& strides) {
  return shape.size() == kChannelsLastRank &&
         HaveSameOrder(shape, strides, ChannelsLastStrides(shape));
}

bool IsChannelsLast(const Shape& shape, const Strides& strides) {
  if (shape.size() != kChannelsLastRank || IsContiguous(shape, strides))
    return false;
  std::int64_t inner = 1;
  for (const std::size_t dim : kChannelsLastOrder) {
    if (shape[dim] == 1) continue;
    if (strides[dim] < inner) return false;
    inner = strides[dim];
  }
  return true;
}

std::optional<Strides> ViewStrides(const Shape& shape, const Strides& strides,
                                   const Shape& new_shape) {
  const std::int64_t elements = NumElements(shape);
  if (elements != NumElements(new_shape)) return std::nullopt;
  if (elements <= 1) return ContiguousStrides(new_shape);
  const std::vector<StridedRun> runs = MergedRuns(shape, strides);
  Strides result(new_shape.size(), 1);
  std::size_t dim = new_shape.size();
  for (std::size_t i = runs.size(); i-- > 0;) {
    StridedRun left = runs[i];
    while (dim > 0 && (left.size > 1 || new_shape[dim - 1] == 1)) {
      --dim;
      if (left.size % new_shape[dim] != 0) return std::nullopt;
      result[dim] = left.stride;
      left.stride *= new_shape[dim];
      left.size /= new_shape[dim];
    }
    if (left.size != 1) return std::nullopt;
  }
  return result;
}

}  // namespace foretell::cost
