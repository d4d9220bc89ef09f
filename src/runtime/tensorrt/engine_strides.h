#pragma once

#include <cstddef>

#include "foretell/graph.h"
#include "src/graph/strides.h"

namespace foretell::runtime {

/// Dimensions of a batch of images.
inline constexpr std::size_t kImageRank = 4;

/// Strides of images, of kImageRank dimensions, whose channels lie side by
/// side: TensorRT's tensor-core kernels need no other format.
Strides ImageStrides(const Shape& shape);

/// True for operators whose results are images.
bool MakesImages(const Node& node);

/// Strides of `value`, of at least two dimensions, with the last two exchanged.
Strides TransposedStrides(const Value& value);

}  // namespace foretell::runtime
