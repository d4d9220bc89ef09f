#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <memory>

#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Two convolutions behind group norms, the first of which is shifted by a
/// projection of the time: diffusers' ResnetBlock2D.
class TimedResidualBlock final : public torch::nn::Module {
 public:
  TimedResidualBlock(std::int64_t in, std::int64_t out, std::int64_t time);

  /// x: [batch, in, h, w], time: [batch, time]; returns [batch, out, h, w].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& time);

 private:
  torch::nn::GroupNorm norm1_ = nullptr;
  torch::nn::Conv2d conv1_ = nullptr;
  Dense time_ = nullptr;
  torch::nn::GroupNorm norm2_ = nullptr;
  torch::nn::Conv2d conv2_ = nullptr;
  torch::nn::Conv2d shortcut_ = nullptr;  ///< Where the widths differ.
};

/// Attention whose keys and values may come from elsewhere.
class CrossAttention final : public torch::nn::Module {
 public:
  CrossAttention(std::int64_t width, std::int64_t context, std::int64_t heads);

  /// x: [batch, tokens, width], context: [batch, tokens there, context].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& context);

 private:
  std::int64_t heads_;
  Dense q_ = nullptr;
  Dense k_ = nullptr;
  Dense v_ = nullptr;
  Dense out_ = nullptr;
};

/// A transformer's block over the positions of an image that also attends to a
/// text: diffusers' Transformer2DModel of depth one.
class SpatialTransformer final : public torch::nn::Module {
 public:
  SpatialTransformer(std::int64_t width, std::int64_t context,
                     std::int64_t heads);

  /// x: [batch, width, h, w], text: [batch, tokens, context]; returns x's
  /// shape.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& text);

 private:
  at::Tensor Block(const at::Tensor& x, const at::Tensor& text);
  at::Tensor FeedForward(const at::Tensor& x);

  torch::nn::GroupNorm norm_ = nullptr;
  torch::nn::Conv2d in_ = nullptr;
  torch::nn::LayerNorm norm1_ = nullptr;
  std::shared_ptr<CrossAttention> self_;
  torch::nn::LayerNorm norm2_ = nullptr;
  std::shared_ptr<CrossAttention> cross_;
  torch::nn::LayerNorm norm3_ = nullptr;
  Dense widen_ = nullptr;
  Dense narrow_ = nullptr;
  torch::nn::Conv2d out_ = nullptr;
};

/// Normalisation in 32 groups of channels.
torch::nn::GroupNorm GroupsNorm(std::int64_t channels, double epsilon);

}  // namespace foretell::zoo
