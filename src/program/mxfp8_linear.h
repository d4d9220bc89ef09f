#pragma once

#include <ATen/core/Tensor.h>

namespace foretell {

/// Whether torchao's MXFP8 training can run the linear layer of `weight`
/// [out, in]: blocks of 32 values share a scale, so both sizes must be
/// multiples of 32.
bool IsMxfp8Layer(const at::Tensor& weight);

/// input [..., in] times weight [out, in], transposed, plus `bias` if it is
/// defined, as torchao runs it with its kernels for Blackwell (0.18.0,
/// prototype/moe_training/mxfp8_linear.py): operands of all three products are
/// cast each time, and the backward pass keeps input and weight as they are.
///
/// Throws Error(kInvalidArgument) for operands that are not bf16, and for rows
/// of the input that are no multiple of 32.
at::Tensor Mxfp8Linear(const at::Tensor& input, const at::Tensor& weight,
                       const at::Tensor& bias);

}  // namespace foretell
