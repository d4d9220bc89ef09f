// Attention that no fused kernel supports, by the version of PyTorch.
//
//   before 2.0   what networks wrote: the scores are scaled, the mask is added
//                to a new tensor, under autocast the softmax returns f32
//   2.0 to 2.4   queries and keys are scaled, the mask is added in place
//   since 2.5    the same, 16-bit operands being cast to FP32 first
//                (aten/src/ATen/native/transformers/attention.cpp)

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "src/program/meta/attention.h"
#include "src/program/meta/in_autocast.h"
#include "src/program/meta/torch_scope.h"

namespace foretell::meta {

at::Tensor AdditiveMask(const at::Tensor& mask, at::ScalarType dtype) {
  if (!mask.defined() || mask.scalar_type() != at::kBool) return mask;
  return at::where(
      mask, 0.0,
      at::scalar_tensor(-std::numeric_limits<double>::infinity(),
                        at::TensorOptions().dtype(dtype).device(at::kMeta)));
}

namespace {

/// True on and below the diagonal: which keys a query may see.
at::Tensor CausalMask(const AttentionInputs& in) {
  return at::ones({in.query.size(-2), in.key.size(-2)},
                  in.query.options().dtype(at::kBool))
      .tril();
}

/// One head of `tensor` for every head of the queries.
at::Tensor RepeatHeads(const AttentionInputs& in, const at::Tensor& tensor) {
  if (!in.enable_gqa) return tensor;
  return at::repeat_interleave(tensor, in.query.size(-3) / tensor.size(-3), -3);
}

/// Probabilities; in f32 under autocast, as by torch.softmax there.
at::Tensor Softmax(const at::Tensor& scores, bool as_network) {
  const bool in_float = as_network && in_autocast;
  return in_float ? at::softmax(scores, -1, at::kFloat)
                  : at::softmax(scores, -1);
}

/// What LibTorch does from 2.0 to 2.4, and what networks did before
/// (`as_network`): they scaled the scores and added the mask to a new tensor.
at::Tensor RunMathInOperandType(const AttentionInputs& in, bool as_network) {
  const double scale = in.scale.value_or(1.0 / std::sqrt(in.query.size(-1)));
  const double factor = std::sqrt(scale);
  // Scaled queries live until the end.
  const at::Tensor query = as_network ? in.query : in.query * factor;
  const at::Tensor key = RepeatHeads(in, in.key).transpose(-2, -1);
  at::Tensor scores = at::matmul(query, as_network ? key : key * factor);
  if (as_network) scores = scores * scale;
  const at::Tensor mask = AdditiveMask(in.is_causal ? CausalMask(in) : in.mask,
                                       in.query.scalar_type());
  if (mask.defined()) {
    scores = as_network ? at::add(scores, mask) : scores.add_(mask);
  }
  scores = Softmax(scores, as_network);
  if (in.dropout_p > 0) scores = at::dropout(scores, in.dropout_p, true);
  return at::matmul(scores.to(in.value.scalar_type()),
                    RepeatHeads(in, in.value));
}

at::Tensor RunMathOf2_5(const AttentionInputs& in) {
  const at::Tensor mask = AdditiveMask(in.mask, in.query.scalar_type());
  return std::get<0>(at::_scaled_dot_product_attention_math(
      in.query, in.key, in.value,
      mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt,
      in.dropout_p, in.is_causal, std::nullopt, in.scale, in.enable_gqa));
}

}  // namespace

at::Tensor RunAttentionMath(const AttentionInputs& in) {
  const TorchGeneration torch = TorchScope::Generation();
  if (torch == TorchGeneration::kFloatAttentionFallback) {
    return RunMathOf2_5(in);
  }
  return RunMathInOperandType(in, torch == TorchGeneration::kNoFusedAttention);
}

}  // namespace foretell::meta
