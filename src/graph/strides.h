#pragma once

#include <cstdint>
#include <vector>

#include "foretell/graph.h"

namespace foretell {

using Shape = std::vector<std::int64_t>;
/// Elements from one index to the next, per dimension; as long as the shape.
using Strides = std::vector<std::int64_t>;

/// Row-major strides; a dimension without elements counts as one.
Strides ContiguousStrides(const Shape& shape);

/// True when elements lie row-major, as `is_contiguous()` has it: strides of
/// dimensions of size 1, and of tensors without elements, do not matter.
bool IsContiguous(const Shape& shape, const Strides& strides);

/// True for images [n, c, …] of two or three dimensions for which PyTorch's
/// `suggest_memory_format()` answers channels-last. It looks at the strides of
/// dimensions of size 1, too: of [8, 64, 1, 1] those of a converted weight,
/// [64, 1, 64, 64], are channels-last, those of a plain one are not
/// (is_channels_last_strides_2d in c10/core/MemoryFormat.h).
bool SuggestsChannelsLast(const Shape& shape, const Strides& strides);

/// True for images of two dimensions that suggest channels-last.
bool IsChannelsLast(const Value& value);

/// What a graph records of `strides`: all of them where the tensor is not
/// contiguous or suggests channels-last, else nothing. So a convolution's
/// choice of a format can be read off its operands, and strides that lead
/// nowhere are no difference between two tensors.
Strides RecordedStrides(const Shape& shape, Strides strides);

/// Strides of a tensor of a graph, row-major where none are recorded.
Strides StridesOf(const Value& value);

/// Strides without gaps in the order of dimensions that `strides` have, as an
/// element-wise operator gives to its result. Dimensions of size 1 count as
/// the outermost.
Strides DenseStridesLike(const Shape& shape, const Strides& strides);

/// Recorded strides of the part of `value` that has `shape`, in a storage of
/// which every dimension that is smaller has its part: order and gaps stay.
/// Row-major where `shape` has another rank.
Strides StridesOfPart(const Value& value, const Shape& shape);

}  // namespace foretell
