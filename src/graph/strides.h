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

/// Strides of an image [n, c, …] of any number of dimensions whose channels lie
/// side by side; a dimension without elements counts as one.
Strides ChannelsLastStrides(const Shape& shape);

/// True when elements lie row-major, as `is_contiguous()` has it: strides of
/// dimensions of size 1, and of tensors without elements, do not matter.
bool IsContiguous(const Shape& shape, const Strides& strides);

/// True for images [n, c, …] of two or three dimensions for which PyTorch's
/// `suggest_memory_format()` returns channels-last. It also considers the
/// strides of dimensions of size 1: for [8, 64, 1, 1] those of a converted
/// weight, [64, 1, 64, 64], are channels-last, those of a plain one are not
/// (is_channels_last_strides_2d in c10/core/MemoryFormat.h).
bool SuggestsChannelsLast(const Shape& shape, const Strides& strides);

/// True for images of two dimensions that suggest channels-last.
bool IsChannelsLast(const Value& value);

/// The part of `strides` that a graph records: all of them if the tensor is not
/// contiguous or suggests channels-last, else none. So operands show the format
/// of a convolution, and irrelevant strides do not make tensors differ.
Strides RecordedStrides(const Shape& shape, Strides strides);

/// Strides of a tensor of a graph, row-major if none are recorded.
Strides StridesOf(const Value& value);

/// Strides without gaps in the order of dimensions that `strides` have, as an
/// element-wise operator gives to its result. Dimensions of size 1 count as
/// the outermost.
Strides DenseStridesLike(const Shape& shape, const Strides& strides);

/// Recorded strides of the part of `value` that has `shape`, in a storage that
/// is reduced in the same dimensions: order and gaps do not change. Row-major
/// if `shape` has another rank.
Strides StridesOfPart(const Value& value, const Shape& shape);

}  // namespace foretell
