#pragma once

#include <cstddef>
#include <cstdint>

#include "src/kernels/expansion.h"

namespace foretell::cost {

/// Elements that a result of an adaptive pooling over the last `dims`
/// dimensions takes: the mean over its results, rounded, at least 1. Windows
/// begin at floor(i * in / out) and end at ceil((i + 1) * in / out)
/// (aten/src/ATen/native/AdaptivePooling.h), so that neighbours share an
/// element unless a multiple of in / out lies between them.
std::int64_t AdaptiveWindow(const Shape& input, const Shape& result,
                            std::size_t dims);

/// Class, window and threads of a pooling; docs/kernels.md has the rules.
void DescribePool(const Expansion& expansion, const ExpandedNode& expanded,
                  Kernel& kernel);

}  // namespace foretell::cost
