#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace foretell::cost {

using Shape = std::vector<std::int64_t>;
/// Elements from one index to the next, per dimension; as long as the shape.
using Strides = std::vector<std::int64_t>;

/// Product of `shape`; 1 for a scalar.
std::int64_t NumElements(const Shape& shape);

/// Product of all dimensions of `shape` except the last `dims_left`.
std::int64_t ProductBefore(const Shape& shape, std::size_t dims_left);

/// Row-major strides; a dimension without elements counts as one.
Strides ContiguousStrides(const Shape& shape);

/// Strides of the channels-last format; row-major unless the rank is 4.
Strides ChannelsLastStrides(const Shape& shape);

/// True when both lead to the same places: along a dimension of size 1 any
/// stride does.
bool HaveSameOrder(const Shape& shape, const Strides& left,
                   const Strides& right);

/// Strides without gaps in the order of dimensions that `strides` have, as an
/// element-wise operator gives to its result. Dimensions of size 1 count as
/// the outermost.
Strides DenseStridesLike(const Shape& shape, const Strides& strides);

/// True when elements lie row-major; strides of dimensions of size 1 do not
/// matter.
bool IsContiguous(const Shape& shape, const Strides& strides);

/// True for rank 4 when channels change fastest, then width, height, images,
/// and the tensor is not contiguous as well.
bool IsChannelsLast(const Shape& shape, const Strides& strides);

/// True when the strides are those of the channels-last format as far as they
/// matter; a tensor can be contiguous as well, such as [8, 64, 1, 1].
bool FitsChannelsLast(const Shape& shape, const Strides& strides);

/// Strides under which the elements can be seen in `new_shape` without moving
/// them; empty when they have to be copied, or when `new_shape` has another
/// number of elements.
///
/// Dimensions that follow on each other in memory merge into runs, and every
/// run must split into new dimensions by itself.
std::optional<Strides> ViewStrides(const Shape& shape, const Strides& strides,
                                   const Shape& new_shape);

}  // namespace foretell::cost
