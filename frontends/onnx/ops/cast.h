#pragma once

#include <ATen/core/Tensor.h>

namespace foretell::onnx {

class NodeContext;

/// `x` as an 8-bit floating-point type: numbers beyond the largest become the
/// largest with `saturate`, else infinity or NaN as the type has it.
at::Tensor CastToFloat8(const at::Tensor& x, at::ScalarType type,
                        bool saturate);

/// Conversions of the element type, saturating ones to 8-bit floats included.
void LowerCast(NodeContext& ctx);
void LowerCastLike(NodeContext& ctx);
/// Reinterprets the bits of equally wide elements.
void LowerBitCast(NodeContext& ctx);

}  // namespace foretell::onnx
