#pragma once

#include <ATen/core/Tensor.h>

#include "frontends/onnx/node_context.h"

/// Linear quantization, for operators that contain it. A scale or zero point is
/// one number, or broadcasts with the tensor that it belongs to.
namespace foretell::onnx {

/// Input `i`, a zero point: on the host if it is one number there, as Python
/// has it; undefined if it is absent.
at::Tensor ZeroPointInput(NodeContext& ctx, size_t i);

/// (x - zero_point) · scale, computed in float32, in the scale's type.
/// `zero_point` may be undefined.
at::Tensor Dequantized(const at::Tensor& x, const at::Tensor& scale,
                       const at::Tensor& zero_point);

/// y / scale + zero_point, rounded and clamped to `type`. `zero_point` may be
/// undefined. Fails (kUnsupported) for types that are no integers of at most 16
/// bits.
at::Tensor Quantized(const NodeContext& ctx, const at::Tensor& y,
                     const at::Tensor& scale, const at::Tensor& zero_point,
                     at::ScalarType type);

/// A tensor in uint8, with the parameters that its range determines.
struct DynamicCodes {
  at::Tensor codes;
  at::Tensor scale;
  at::Tensor zero_point;
};

/// As DynamicQuantizeLinear computes them.
DynamicCodes QuantizeDynamically(const NodeContext& ctx, const at::Tensor& x);

}  // namespace foretell::onnx
