#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/zoo/llama_config.h"
#include "datasets/zoo/token_activation.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// The feed-forward part of a decoder: activation(x G) ⊙ x U, projected back
/// (Shazeer 2020), or without a gate two layers around the activation.
class DecoderMlp final : public torch::nn::Module {
 public:
  DecoderMlp(const LlamaConfig& config, std::int64_t inner);

  /// x: [..., width]; returns the same.
  at::Tensor forward(const at::Tensor& x);

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
/// as transformers 4.45 to 4.56 runs Mixtral, Qwen2-MoE, Qwen3-MoE and OLMoE:
/// one expert after another, on the tokens that chose it.
///
/// Which tokens choose an expert depends on data. Assumed is a balanced router:
/// each expert has an equal share, or one token if there are fewer choices than
/// experts; the experts without one do not run.
class RoutedExperts final : public torch::nn::Module {
 public:
  explicit RoutedExperts(const LlamaConfig& config);

  /// x: [batch, tokens, width]; returns the same.
  at::Tensor forward(const at::Tensor& x);

 private:
  /// A router's choice for tokens × experts per token.
  struct Choice {
    at::Tensor weights;  ///< In the type of the tokens.
    at::Tensor mask;     ///< i64[experts, experts per token, tokens], one-hot.
    at::Tensor chosen;   ///< i64[tokens, experts per token].
  };

  Choice Route(const at::Tensor& tokens);
  /// Sum of the chosen experts' weighted results, [tokens, width].
  at::Tensor RunExperts(const at::Tensor& tokens, const Choice& choice);
  /// The same if GPUs share the experts, of which `experts_` are this one's.
  at::Tensor RunSharedExperts(const at::Tensor& tokens, const Choice& choice);

  LlamaConfig config_;
  Dense router_ = nullptr;
  std::vector<std::shared_ptr<DecoderMlp>> experts_;
  std::shared_ptr<DecoderMlp> shared_;
  Dense shared_gate_ = nullptr;
};

/// Experts whose weights are two tensors, as GraniteMoe of transformers 4.45 to
/// 4.56 runs them: each on the rows of its tokens, which are sorted by expert.
/// Assumes a balanced router, as RoutedExperts does.
class PackedExperts final : public torch::nn::Module {
 public:
  explicit PackedExperts(const LlamaConfig& config);

  /// x: [batch, tokens, width]; returns the same.
  at::Tensor forward(const at::Tensor& x);

 private:
  /// Which token each row belongs to, and the weight of its result.
  struct Rows {
    at::Tensor tokens;
    at::Tensor weights;
  };

  Rows Route(const at::Tensor& tokens);

  LlamaConfig config_;
  TokenActivation activate_;
  Dense router_ = nullptr;
  at::Tensor in_;   ///< [experts, 2 × inner, width].
  at::Tensor out_;  ///< [experts, width, inner].
};

}  // namespace foretell::zoo
