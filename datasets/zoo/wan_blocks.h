#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "datasets/zoo/joint_blocks.h"
#include "datasets/zoo/rotary.h"
#include "datasets/zoo/token_norm.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Shift, scale and gate of attention and of the feed-forward part.
inline constexpr std::int64_t kWanBlockParts = 6;

/// Sizes of Wan's blocks.
struct WanShape {
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t inner = 0;
};

/// The norm of x in 32 bits, times 1 + `scale`, plus `shift`, in x's type. x:
/// [batch, tokens, width], the others [batch, 1, width].
at::Tensor WideNorm(const at::Tensor& x, const at::Tensor& shift,
                    const at::Tensor& scale);

/// Attention whose queries and keys have a norm over all heads: WanAttention.
class WanAttention final : public torch::nn::Module {
 public:
  explicit WanAttention(const WanShape& shape);

  /// x: [batch, tokens, width]; keys and values are those of `context`. Tables
  /// without tensors turn nothing.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& context,
                     const RotaryTables& tables);

 private:
  std::int64_t heads_;
  Dense q_ = nullptr;
  Dense k_ = nullptr;
  Dense v_ = nullptr;
  std::shared_ptr<TokenNorm> q_norm_;
  std::shared_ptr<TokenNorm> k_norm_;
  Chain out_;
};

/// Attention among patches, attention to the text and a feed-forward part. The
/// first and the last are scaled, shifted and gated by the sum of a table of
/// the block and of what the step says.
class WanBlock final : public torch::nn::Module {
 public:
  explicit WanBlock(const WanShape& shape);

  /// video: [batch, patches, width], text: [batch, tokens, width], condition:
  /// [batch, 6, width].
  at::Tensor forward(const at::Tensor& video, const at::Tensor& text,
                     const at::Tensor& condition, const RotaryTables& tables);

 private:
  std::shared_ptr<WanAttention> own_;
  std::shared_ptr<WanAttention> cross_;
  torch::nn::LayerNorm text_norm_ = nullptr;
  std::shared_ptr<TanhFeedForward> mlp_;
  at::Tensor table_;
};

}  // namespace foretell::zoo
