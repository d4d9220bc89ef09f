#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/window.h"

namespace foretell::onnx {

/// Convolution of `x` [N, C, D1 … Dk] with `weight` [M, C / groups, …], k from
/// 1 to 3. Pads that ATen's `padding` cannot express become a constant_pad_nd
/// before it. `bias` may be undefined.
at::Tensor Convolve(const NodeContext& ctx, const at::Tensor& x,
                    const at::Tensor& weight, const at::Tensor& bias,
                    const Window& window, std::int64_t groups);

/// Computes the convolution of Conv's inputs 0 to 2 and attributes without
/// setting an output; shared with the fused operators of com.microsoft.
at::Tensor ConvolveInputs(NodeContext& ctx);

}  // namespace foretell::onnx
