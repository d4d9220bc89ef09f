#pragma once

#include <cstdint>
#include <vector>

#include "src/runtime/compile/pass_buffers.h"

namespace foretell::runtime {

/// Bytes of the buffers that are alive at each kernel of `order`, which are
/// indices of `pass.kernels`, and after the last one. As Inductor estimates it,
/// what a kernel reads for the last time is alive there and gone at the next.
std::vector<std::int64_t> LiveBytes(const PassBuffers& pass,
                                    const std::vector<int>& order);

/// The order in which Inductor runs the kernels: the given one, or that of
/// three others whose estimated peak is lowest.
std::vector<int> OrderForPeak(const PassBuffers& pass);

}  // namespace foretell::runtime
