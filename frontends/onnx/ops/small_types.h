#pragma once

#include <ATen/core/Tensor.h>

/// Element types of less than a byte: UINT2, INT2, UINT4, INT4, FLOAT4E2M1.
///
/// ATen defines them but has no kernels for them, not even a copy. Elements
/// take a byte each, as in PyTorch: integers as int8 and uint8 hold them,
/// floats as sign bit 3, exponent bits 2 and 1 and mantissa bit 0 of that byte.
namespace foretell::onnx {

/// True for the five types; FLOAT4E2M1 is ATen's Float4_e2m1fn_x2.
bool IsSmallType(at::ScalarType type);

/// Elements of a small type in another type: of int8 or uint8 for integers, of
/// float for FLOAT4E2M1.
at::Tensor FromSmallType(const at::Tensor& tensor);

/// `tensor`, of any type but a small one, as elements of `type`.
///
/// Integers keep their lowest bits, floating-point numbers are rounded toward
/// zero first. FLOAT4E2M1 takes the nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6 and
/// their negatives, ties to even; larger numbers become 6, NaN 0.
at::Tensor ToSmallType(const at::Tensor& tensor, at::ScalarType type);

}  // namespace foretell::onnx
