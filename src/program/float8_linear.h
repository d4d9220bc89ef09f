#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace foretell {

/// Which values share a scale, as torchao's recipes name it.
enum class Float8Recipe : std::uint8_t {
  kTensorwise,
  kRowwise,         ///< A scale per row, rounded to a power of two.
  kRowwiseWideGrad  ///< The same, gradients of weights in the wide type.
};

/// Whether torchao's float8 training converts the linear layer of `weight`
/// [out, in]: both sizes must be multiples of 16 (float8_linear_utils.py).
bool IsFloat8Layer(const at::Tensor& weight);

/// input [..., in] times weight [out, in], transposed, plus `bias` if it is
/// defined, as torchao's Float8Linear runs it without a compiler (0.18.0,
/// torchao/float8/float8_linear.py, float8_ops.py, float8_utils.py). Operands
/// of all three products are cast each time, after the largest of their values
/// is known; the backward pass keeps input and weight as they are.
at::Tensor Float8Linear(const at::Tensor& input, const at::Tensor& weight,
                        const at::Tensor& bias, Float8Recipe recipe);

}  // namespace foretell
