#pragma once

#include <ATen/core/Tensor.h>

namespace foretell {

/// Causal attention of q [batch, heads, tokens, width] with k and v [batch,
/// heads of keys, keys, width] as torch.compile(flex_attention) runs it: one
/// Triton kernel forward and, behind the sum of result times gradient, one
/// backward (PyTorch 2.13, torch/_inductor/kernel/flex/flex_attention.py).
/// Whatever a score_mod computes and a mask hides costs no memory. The backward
/// pass keeps the operands, the result and one f32 per row; gradients of keys
/// and values have their own heads.
///
/// Throws Error(kInvalidArgument) for a width below 16, and for heads that are
/// no multiple of those of the keys.
at::Tensor FlexAttention(const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& v);

}  // namespace foretell
