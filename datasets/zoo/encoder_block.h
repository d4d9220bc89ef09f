#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "datasets/zoo/network.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// A pre-norm transformer block with three separate projections, as in CLIP and
/// Whisper.
struct EncoderBlockOptions {
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t inner = 0;
  bool is_causal = false;
  bool key_bias = true;
  /// Scales the queries before attention and bounds results in f16, as Whisper
  /// does.
  bool is_whisper = false;
  /// x · sigmoid(1.702 x) instead of GELU.
  bool quick_gelu = false;
};

class EncoderBlock final : public torch::nn::Module {
 public:
  explicit EncoderBlock(const EncoderBlockOptions& options);

  /// x: [batch, tokens, width]; returns the same.
  at::Tensor forward(const at::Tensor& x);

 private:
  at::Tensor Attend(const at::Tensor& x);
  at::Tensor FeedForward(const at::Tensor& x);

  EncoderBlockOptions options_;
  torch::nn::LayerNorm attention_norm_ = nullptr;
  Dense q_ = nullptr;
  Dense k_ = nullptr;
  Dense v_ = nullptr;
  Dense out_ = nullptr;
  torch::nn::LayerNorm mlp_norm_ = nullptr;
  Dense widen_ = nullptr;
  Dense narrow_ = nullptr;
};

/// `depth` blocks, one after another.
Chain EncoderBlocks(std::int64_t depth, const EncoderBlockOptions& options);

}  // namespace foretell::zoo
