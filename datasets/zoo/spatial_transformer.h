#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Attention with keys and values from a separate context.
class CrossAttention final : public torch::nn::Module {
 public:
  /// `bias`: whether queries, keys and values have a bias; the result always
  /// does.
  CrossAttention(std::int64_t width, std::int64_t context, std::int64_t heads,
                 bool bias = false);

  /// x: [batch, tokens, width], context: [batch, context tokens, context].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& context);

 private:
  std::int64_t heads_;
  Dense q_ = nullptr;
  Dense k_ = nullptr;
  Dense v_ = nullptr;
  Dense out_ = nullptr;
};

struct SpatialTransformerShape {
  std::int64_t width = 0;
  std::int64_t context = 0;  ///< Width of the text.
  std::int64_t heads = 1;
  std::int64_t depth = 1;
  /// Begins and ends with dense layers over tokens, not 1 x 1 convolutions.
  bool is_linear = false;
};

/// Transformer blocks over the positions of an image that also attend to a
/// text: diffusers' Transformer2DModel.
class SpatialTransformer final : public torch::nn::Module {
 public:
  explicit SpatialTransformer(const SpatialTransformerShape& shape);

  /// x: [batch, width, h, w], text: [batch, tokens, context]; returns x's
  /// shape.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& text);

 private:
  class Block;

  at::Tensor TokensOf(const at::Tensor& image);
  at::Tensor ImageOf(const at::Tensor& tokens, const at::Tensor& like);

  torch::nn::GroupNorm norm_ = nullptr;
  torch::nn::Conv2d conv_in_ = nullptr;  ///< Or dense_in_.
  Dense dense_in_ = nullptr;
  std::vector<std::shared_ptr<Block>> blocks_;
  torch::nn::Conv2d conv_out_ = nullptr;  ///< Or dense_out_.
  Dense dense_out_ = nullptr;
};

}  // namespace foretell::zoo
