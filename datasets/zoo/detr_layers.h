#pragma once

#include <torch/nn/modules/dropout.h>

#include <cstdint>

#include "datasets/zoo/network.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Sizes of DETR's transformer.
struct DetrWidths {
  std::int64_t width = 256;
  std::int64_t heads = 8;
  std::int64_t inner = 2048;
  double dropout = 0.1;
};

/// Attention as in Python's nn.MultiheadAttention with need_weights, the
/// default: products and a softmax, never a fused kernel, and the mean of the
/// weights over heads. Sequences come first.
class WeighedAttention final : public torch::nn::Module {
 public:
  explicit WeighedAttention(const DetrWidths& widths);

  /// query: [L, batch, width]; key, value: [S, batch, width]; mask, if defined:
  /// bool [batch, S], true for keys that are absent. Returns [L, batch,
  /// width].
  at::Tensor Attend(const at::Tensor& query, const at::Tensor& key,
                    const at::Tensor& value, const at::Tensor& mask);

 private:
  at::Tensor Heads(const at::Tensor& x, const at::Tensor& weight,
                   const at::Tensor& bias) const;

  DetrWidths widths_;
  at::Tensor in_weight_;
  at::Tensor in_bias_;
  Dense out_ = nullptr;
};

/// Inputs of encoder and decoder in addition to the sequence.
struct DetrContext {
  at::Tensor memory;     ///< [S, batch, width]; the decoder's alone.
  at::Tensor mask;       ///< bool [batch, S].
  at::Tensor positions;  ///< [S, batch, width].
  at::Tensor queries;    ///< [L, batch, width]; the decoder's alone.
};

/// A post-norm layer of the encoder or, with a second attention over the
/// memory, of the decoder.
class DetrLayer final : public torch::nn::Module {
 public:
  DetrLayer(const DetrWidths& widths, bool is_decoder);

  /// x: [S, batch, width] in the encoder, [L, batch, width] in the decoder;
  /// returns the same.
  at::Tensor Run(const at::Tensor& x, const DetrContext& context);

 private:
  at::Tensor FeedForward(const at::Tensor& x);

  std::shared_ptr<WeighedAttention> self_;
  std::shared_ptr<WeighedAttention> cross_;  ///< Null in the encoder.
  Dense widen_ = nullptr;
  Dense narrow_ = nullptr;
  torch::nn::LayerNorm self_norm_ = nullptr;
  torch::nn::LayerNorm cross_norm_ = nullptr;
  torch::nn::LayerNorm last_norm_ = nullptr;
  torch::nn::Dropout dropout_ = nullptr;
};

}  // namespace foretell::zoo
