#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/graph/strides.h"

namespace foretell::cost {

/// Product of `shape`; 1 for a scalar. Throws Error(kInvalidArgument) that
/// states the shape if it exceeds int64.
std::int64_t NumElements(const Shape& shape);

/// The last of `shape`; 1 for a scalar.
inline std::int64_t LastOf(const Shape& shape) {
  return shape.empty() ? 1 : shape.back();
}

/// The quotient, rounded towards 0; 0 if `divisor` is 0.
inline std::int64_t Ratio(std::int64_t dividend, std::int64_t divisor) {
  return divisor == 0 ? 0 : dividend / divisor;
}

/// Places of one channel of an image, [n, c, …]; 1 without dimensions after the
/// second.
std::int64_t PositionsOf(const Shape& shape);

/// Product of all dimensions of `shape` except the last `dims_left`.
std::int64_t ProductBefore(const Shape& shape, std::size_t dims_left);

/// True when both lead to the same places: along a dimension of size 1 any
/// stride does.
bool HaveSameOrder(const Shape& shape, const Strides& left,
                   const Strides& right);

/// True for images of two or three dimensions, [n, c, …], that lie in the
/// channels-last format without gaps; they can be row-major as well, such as
/// [8, 64, 1, 1].
bool FitsChannelsLast(const Shape& shape, const Strides& strides);

/// Strides under which the elements can be seen in `new_shape` without moving
/// them; empty when they have to be copied, or when `new_shape` has another
/// number of elements.
///
/// Dimensions that follow on each other in memory merge into runs, and every
/// run must split into new dimensions by itself.
std::optional<Strides> ViewStrides(const Shape& shape, const Strides& strides,
                                   const Shape& new_shape);

/// True if the dimensions before the last two can be seen as one.
bool FoldsABatch(const Shape& shape, const Strides& strides);

/// True for a matrix, row- or column-major, or a batch of them whose dimensions
/// fold into one: a product reads it as it lies. Rows, or columns, must not
/// overlap, as those of an expanded matrix do.
bool FitsABatchedProduct(const Shape& shape, const Strides& strides);

}  // namespace foretell::cost
