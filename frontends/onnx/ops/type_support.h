#pragma once

#include <ATen/core/Tensor.h>

#include "frontends/onnx/operator_table.h"

/// Element types that ONNX allows and ATen stores without computing on them.
///
/// uint16, uint32 and uint64 have no arithmetic kernels in ATen. They are
/// computed as int64: exact for the first two; for uint64 either modulo 2^64
/// (sums and products, whose bits do not depend on the sign) or with the top
/// bit flipped (comparisons, whose order then agrees).
namespace foretell::onnx {

/// True for uint16, uint32 and uint64.
bool IsWideUnsigned(at::ScalarType type);
/// True for the 8-bit and smaller floating-point types.
bool IsSmallFloat(at::ScalarType type);

/// True for equal types, and under autocast for any two among f32, f16 and
/// bf16: there PyTorch chooses the types of results and reconciles operands,
/// whatever ONNX specifies.
bool TypesAgree(at::ScalarType a, at::ScalarType b);

/// `tensor` in `type`; the tensor itself when the types agree.
at::Tensor CastTo(const at::Tensor& tensor, at::ScalarType type);

/// `tensor` in a type whose sums and products ATen computes: int64 for wide
/// unsigned integers (uint64 modulo 2^64), float32 for floats of 8 bits and
/// less, a byte for smaller integers, else as it is. Inverse: CastTo its type.
at::Tensor Computable(const at::Tensor& tensor);
/// As Computable, but the order of elements is kept for uint64 too.
at::Tensor Ordered(const at::Tensor& tensor);
/// Inverse of Ordered for a selection of its elements.
at::Tensor FromOrdered(const at::Tensor& tensor, at::ScalarType type);

/// Quotient rounded toward zero, right for every integer type, with the
/// wrap-around that two's complement gives the smallest number divided by -1.
/// Floating-point types divide without rounding. A zero among integer divisors
/// makes ATen throw on the CPU.
at::Tensor Quotient(const at::Tensor& dividend, const at::Tensor& divisor);

/// `tensor` in float32 when it is half or bfloat16 on the CPU, where some
/// kernels are missing or add up in half precision; else the tensor itself.
at::Tensor FloatOnCpu(const at::Tensor& tensor);

using UnaryFunction = at::Tensor (*)(const at::Tensor&);
using BinaryFunction = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

}  // namespace foretell::onnx
