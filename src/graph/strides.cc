#include "src/graph/strides.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace foretell {
namespace {

using Order = std::vector<std::size_t>;

Strides StridesInOrder(const Shape& shape, const Order& innermost_first) {
  Strides strides(shape.size());
  std::int64_t step = 1;
  for (const std::size_t dim : innermost_first) {
    strides[dim] = step;
    step *= std::max<std::int64_t>(shape[dim], 1);
  }
  return strides;
}

Order InnermostFirst(std::size_t rank) {
  Order order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

/// Channels, then the dimensions of an image, then images.
Order ChannelsFirst(std::size_t rank) {
  Order order = InnermostFirst(rank);
  std::rotate(order.begin(), order.end() - 2, order.end() - 1);
  return order;
}

/// `size` reduced like `whole` to `part`; empty where that leaves a rest.
std::optional<std::int64_t> Reduced(std::int64_t size, std::int64_t whole,
                                    std::int64_t part) {
  const bool divides =
      part > 0 && whole % part == 0 && size % (whole / part) == 0;
  if (!divides) return std::nullopt;
  return size / (whole / part);
}

}  // namespace

Strides ContiguousStrides(const Shape& shape) {
  return StridesInOrder(shape, InnermostFirst(shape.size()));
}

Strides ChannelsLastStrides(const Shape& shape) {
  return StridesInOrder(shape, ChannelsFirst(shape.size()));
}

bool IsContiguous(const Shape& shape, const Strides& strides) {
  if (std::ranges::count(shape, 0) > 0) return true;
  const Strides row_major = ContiguousStrides(shape);
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] != 1 && strides[dim] != row_major[dim]) return false;
  }
  return true;
}

bool SuggestsChannelsLast(const Shape& shape, const Strides& strides) {
  const bool are_images = shape.size() == 4 || shape.size() == 5;
  if (!are_images || strides[1] == 0) return false;
  std::int64_t least = 0;
  for (const std::size_t dim : ChannelsFirst(shape.size())) {
    if (shape[dim] == 0 || strides[dim] < least) return false;
    // One element per image: both formats have these strides.
    if (dim == 0 && least == strides[1]) return false;
    least = strides[dim] * std::max<std::int64_t>(shape[dim], 1);
  }
  return true;
}

bool IsChannelsLast(const Value& value) {
  return value.type.shape.size() == 4 && !value.strides.empty() &&
         SuggestsChannelsLast(value.type.shape, value.strides);
}

Strides RecordedStrides(const Shape& shape, Strides strides) {
  const bool tells = !strides.empty() && (!IsContiguous(shape, strides) ||
                                          SuggestsChannelsLast(shape, strides));
  return tells ? std::move(strides) : Strides{};
}

Strides StridesOf(const Value& value) {
  return value.strides.empty() ? ContiguousStrides(value.type.shape)
                               : value.strides;
}

Strides DenseStridesLike(const Shape& shape, const Strides& strides) {
  Order order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  const auto distance = [&](std::size_t dim) {
    return shape[dim] > 1 ? strides[dim]
                          : std::numeric_limits<std::int64_t>::max();
  };
  std::ranges::stable_sort(order, std::greater<>(), distance);
  std::ranges::reverse(order);
  return StridesInOrder(shape, order);
}

Strides StridesOfPart(const Value& value, const Shape& shape) {
  const Shape& whole = value.type.shape;
  if (value.strides.empty() || shape == whole) return value.strides;
  if (shape.size() != whole.size()) return {};
  Strides strides = value.strides;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == whole[dim]) continue;
    // What steps over the whole dimension steps over its part.
    const std::int64_t reach = value.strides[dim] * whole[dim];
    for (std::size_t other = 0; other < shape.size(); ++other) {
      if (reach == 0 || other == dim || value.strides[other] < reach) continue;
      const auto reduced = Reduced(strides[other], whole[dim], shape[dim]);
      if (!reduced) {
        return RecordedStrides(shape, DenseStridesLike(shape, value.strides));
      }
      strides[other] = *reduced;
    }
  }
  return RecordedStrides(shape, std::move(strides));
}

}  // namespace foretell
