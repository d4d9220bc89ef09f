#pragma once

#include <ATen/core/Tensor.h>

/// Liger's kernels as a training step runs them (linkedin/Liger-Kernel 0.8.2,
/// src/liger_kernel/ops): what they allocate, keep for the backward pass and
/// overwrite. A launch of Triton is an operator of meta/liger.cc.
namespace foretell::liger {

/// x [..., width] normalised, with a weight [width]; in the type of `x`. Keeps
/// `x` and 4 bytes per row; the gradient of `x` replaces that of the result.
at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& weight);

/// Turns queries and keys [batch, heads, tokens, width] in place by rotary
/// positions, in the layout [batch, tokens, heads, width], to which they are
/// copied if they lie in another; their gradients likewise.
void Rotate(at::Tensor& queries, at::Tensor& keys, const at::Tensor& cosine,
            const at::Tensor& sine);

/// silu(gate) ⊙ up. Keeps both operands, which their gradients replace.
at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up);

/// A scalar from logits [rows, classes] and classes i64[rows]. The gradient of
/// the logits replaces them in the forward pass.
at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& classes);

/// The cross entropy of states [rows, width] times weight [classes, width],
/// transposed: logits of some rows at a time, all gradients in the forward
/// pass. `in_floats`: as Liger up to 0.4 and fms-acceleration do it, with
/// logits in f32 and gradients of the weight that the products add up.
at::Tensor LinearCrossEntropy(const at::Tensor& states,
                              const at::Tensor& weight,
                              const at::Tensor& classes, bool in_floats);

}  // namespace foretell::liger
