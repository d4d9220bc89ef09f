#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <string_view>

namespace foretell::zoo {

enum class NormKind {
  kRms,    ///< x / √(mean x² + ε) in 32 bits, then times a weight: LLaMA.
  kGemma,  ///< The same, times 1 + weight before the cast back.
  kLayer,  ///< torch.nn.LayerNorm.
  kFused,  ///< torch.nn.RMSNorm: one kernel.
  /// x × 1 / √(mean x² + ε), cast to the weight's type: diffusers' RMSNorm.
  kDiffusers,
};

/// The kind that `name` (rms, gemma, layer) states; throws
/// Error(kInvalidArgument) for another.
NormKind ParseNormKind(std::string_view name);

/// A norm over the last dimension with the operators of transformers'
/// LlamaRMSNorm, GemmaRMSNorm (both 4.56), torch.nn or diffusers 0.42.
class TokenNorm final : public torch::nn::Module {
 public:
  TokenNorm(NormKind kind, std::int64_t width);

  /// x: [..., width]; returns the same shape and type.
  at::Tensor forward(const at::Tensor& x);

 private:
  at::Tensor ScaledByRoot(const at::Tensor& x) const;

  NormKind kind_;
  at::Tensor weight_;
  at::Tensor bias_;  ///< Of kLayer only.
};

}  // namespace foretell::zoo
