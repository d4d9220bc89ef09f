#pragma once

#include <ATen/core/Tensor.h>

namespace foretell::training {

/// Sum over all elements of weight · huber(output - target), all [B, T]:
/// d² / 2 where |d| ≤ delta, else delta · (|d| - delta / 2). A weight of 0
/// masks an element: neither its loss nor its gradient counts.
at::Tensor HuberSum(const at::Tensor& output, const at::Tensor& target,
                    const at::Tensor& weights, double delta);

}  // namespace foretell::training
