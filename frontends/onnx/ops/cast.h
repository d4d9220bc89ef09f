#pragma once

#include <ATen/core/Tensor.h>

namespace foretell::onnx {

class NodeContext;

/// `x` as a floating-point type of 8 bits or less: numbers beyond the largest
/// become the largest with `saturate` and for FLOAT4E2M1, else infinity or NaN,
/// depending on the type.
at::Tensor CastToFloat8(const at::Tensor& x, at::ScalarType type,
                        bool saturate);

/// Conversions of the element type, including saturating ones to 8-bit floats.
void LowerCast(NodeContext& ctx);
void LowerCastLike(NodeContext& ctx);
/// Reinterprets the bits of equally wide elements.
void LowerBitCast(NodeContext& ctx);

}  // namespace foretell::onnx
