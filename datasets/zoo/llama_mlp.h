#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/zoo/llama_config.h"
#include "datasets/zoo/token_activation.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// What follows attention in a block.
class FeedForwardPart : public torch::nn::Module {
 public:
  /// x: [batch, tokens, width]; returns the same.
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};

/// That of layer `layer`, from 0: experts or one network for all tokens.
std::shared_ptr<FeedForwardPart> MakeFeedForwardPart(const LlamaConfig& config,
                                                     std::int64_t layer);

/// The feed-forward part of a decoder: activation(x G) ⊙ x U, projected back
/// (Shazeer 2020), or without a gate two layers around the activation.
class DecoderMlp final : public FeedForwardPart {
 public:
  DecoderMlp(const LlamaConfig& config, std::int64_t inner);

  /// x: [..., width]; returns the same.
  at::Tensor forward(const at::Tensor& x) override;

 private:
  at::Tensor Inner(const at::Tensor& x);

  TokenActivation activate_;
  Dense gate_ = nullptr;
  Dense up_ = nullptr;
  Dense gate_up_ = nullptr;  ///< If config.fused_gate_up, instead of both.
  Dense down_ = nullptr;
};

/// Width of an expert's inner layer.
std::int64_t ExpertInner(const LlamaConfig& config);

/// Experts of which a router chooses config.experts_per_token for each token,
/// as transformers 4.45 to 4.57 runs Mixtral, Qwen2-MoE, Qwen3-MoE, OLMoE and
/// GLM-4.5: one expert after another, on the tokens that chose it.
///
/// Which tokens choose an expert depends on data. Assumed is a balanced router:
/// each expert has an equal share, or one token if there are fewer choices than
/// experts; the experts without one do not run.
class RoutedExperts final : public FeedForwardPart {
 public:
  explicit RoutedExperts(const LlamaConfig& config);

  at::Tensor forward(const at::Tensor& x) override;

 private:
  /// A router's choice for tokens × experts per token.
  struct Choice {
    at::Tensor weights;  ///< In the type of the tokens; GLM-4.5's in 32 bits.
    at::Tensor mask;     ///< i64[experts, experts per token, tokens], one-hot.
    at::Tensor chosen;   ///< i64[tokens, experts per token].
  };

  Choice Route(const at::Tensor& tokens);
  Choice RouteBySigmoid(const at::Tensor& tokens);
  /// Sum of the chosen experts' weighted results, [tokens, width].
  at::Tensor RunExperts(const at::Tensor& tokens, const Choice& choice);
  /// The same if GPUs share the experts, of which `experts_` are this one's.
  at::Tensor RunSharedExperts(const at::Tensor& tokens, const Choice& choice);
  at::Tensor MaskOf(const at::Tensor& chosen) const;

  LlamaConfig config_;
  Dense router_ = nullptr;
  at::Tensor correction_;  ///< Of GLM-4.5's scores, a buffer.
  std::vector<std::shared_ptr<DecoderMlp>> experts_;
  std::shared_ptr<DecoderMlp> shared_;
  Dense shared_gate_ = nullptr;  ///< Null in GLM-4.5.
};

}  // namespace foretell::zoo
