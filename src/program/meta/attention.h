#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "src/program/meta/call.h"

namespace foretell::meta {

/// Arguments of scaled_dot_product_attention: `query` [..., heads, length,
/// size], `key` and `value` with a length of their own.
struct AttentionInputs {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor mask = {};  ///< Undefined: no mask.
  double dropout_p = 0;
  bool is_causal = false;
  std::optional<double> scale = std::nullopt;
  bool enable_gqa = false;  ///< Fewer heads in key and value than in query.
};

/// Of a call of scaled_dot_product_attention.
AttentionInputs AttentionInputsOf(Call& call);

/// `tensor` with heads of a multiple of eight elements, as FlashAttention
/// needs them.
at::Tensor PadHead(const at::Tensor& tensor);

enum class AttentionKernel { kFlash, kEfficient, kMath };

/// The kernel that PyTorch of the TorchScope uses on CUDA for `inputs`.
AttentionKernel ChooseAttention(const AttentionInputs& inputs);

/// A Boolean mask becomes 0 or minus infinity, which is added; others stay.
at::Tensor AdditiveMask(const at::Tensor& mask, at::ScalarType dtype);

/// Attention by products and a softmax, whose scores and probabilities are
/// stored and kept for gradients.
at::Tensor RunAttentionMath(const AttentionInputs& inputs);

}  // namespace foretell::meta
