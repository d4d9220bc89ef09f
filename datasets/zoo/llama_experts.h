#pragma once

#include <cstdint>
#include <vector>

#include "datasets/zoo/llama_config.h"
#include "datasets/zoo/llama_mlp.h"
#include "datasets/zoo/token_activation.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Experts whose weights are two tensors for all of them. All assume a balanced
/// router, as RoutedExperts does.

/// The shares of `count` rows that `parts` experts get from a balanced router.
std::vector<std::int64_t> EqualShares(std::int64_t count, std::int64_t parts);

/// As GraniteMoe of transformers 4.45 to 4.57 runs them: each on the rows of
/// its tokens, which are sorted by expert.
class GraniteExperts final : public FeedForwardPart {
 public:
  explicit GraniteExperts(const LlamaConfig& config);

  at::Tensor forward(const at::Tensor& x) override;

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

/// As gpt-oss of transformers 4.57 trains them: one after another, with biases
/// and a gate that is clamped, in the type of the tokens.
class GptOssExperts final : public FeedForwardPart {
 public:
  explicit GptOssExperts(const LlamaConfig& config);

  at::Tensor forward(const at::Tensor& x) override;

 private:
  /// What the expert of number `expert` makes of `rows` [n, width].
  at::Tensor RunExpert(const at::Tensor& rows, std::int64_t expert) const;

  LlamaConfig config_;
  Dense router_ = nullptr;
  at::Tensor in_;        ///< [experts, width, 2 × inner].
  at::Tensor in_bias_;   ///< [experts, 2 × inner].
  at::Tensor out_;       ///< [experts, inner, width].
  at::Tensor out_bias_;  ///< [experts, width].
};

/// As Llama 4 of transformers 4.57 runs them: all experts on all tokens, times
/// zero for those that did not choose them, and a shared expert.
class Llama4Experts final : public FeedForwardPart {
 public:
  explicit Llama4Experts(const LlamaConfig& config);

  at::Tensor forward(const at::Tensor& x) override;

 private:
  LlamaConfig config_;
  TokenActivation activate_;
  Dense router_ = nullptr;
  std::shared_ptr<DecoderMlp> shared_;
  at::Tensor in_;   ///< [experts, width, 2 × inner].
  at::Tensor out_;  ///< [experts, inner, width].
};

}  // namespace foretell::zoo
