#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <string_view>

namespace foretell::zoo {

enum class NormKind {
  kRms,      ///< x / √(mean x² + ε) in 32 bits, then times a weight: LLaMA.
  kOlmo2,    ///< The same, times the weight before the cast back.
  kGemma,    ///< The same, times 1 + weight before the cast back.
  kL2,       ///< kRms without a weight: Llama 4's heads.
  kLayer,    ///< torch.nn.LayerNorm.
  kLayer1p,  ///< The same with 1 + weight: Nemotron.
  kOlmo,     ///< A layer norm in 32 bits without weights.
  kCohere,   ///< A layer norm in 32 bits, operator by operator, without bias.
  kFused,    ///< torch.nn.RMSNorm: one kernel.
  /// x × 1 / √(mean x² + ε), cast to the weight's type: diffusers' RMSNorm.
  kDiffusers,
};

/// The kind that `name` (rms, olmo2, gemma, l2, layer, layer1p, olmo, cohere)
/// states; throws Error(kInvalidArgument) for another.
NormKind ParseNormKind(std::string_view name);

/// A norm over the last dimension with the operators of transformers'
/// LlamaRMSNorm and the other norms of decoders (4.57), torch.nn or diffusers
/// 0.42.
class TokenNorm final : public torch::nn::Module {
 public:
  TokenNorm(NormKind kind, std::int64_t width);

  /// x: [..., width]; returns the same shape and type.
  at::Tensor forward(const at::Tensor& x);

 private:
  at::Tensor ScaledByRoot(const at::Tensor& x) const;
  at::Tensor LayerNorm(const at::Tensor& x) const;
  at::Tensor Cohere(const at::Tensor& x) const;
  at::Tensor RootMeanSquare(const at::Tensor& x) const;

  NormKind kind_;
  at::Tensor weight_;  ///< Undefined in kOlmo and kL2.
  at::Tensor bias_;    ///< Of kLayer and kLayer1p only.
};

}  // namespace foretell::zoo
