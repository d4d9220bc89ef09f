#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "datasets/zoo/token_activation.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Two convolutions, each after a group norm: diffusers' ResnetBlock2D.
class DiffusionResidualBlock final : public torch::nn::Module {
 public:
  /// `time`: width of the embedding that shifts the first convolution's result;
  /// 0: no shift.
  DiffusionResidualBlock(std::int64_t in, std::int64_t out, std::int64_t time);

  /// x: [batch, in, h, w], time: [batch, time] or undefined; returns [batch,
  /// out, h, w].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& time = {});

 private:
  torch::nn::GroupNorm norm1_ = nullptr;
  torch::nn::Conv2d conv1_ = nullptr;
  Dense time_ = nullptr;  ///< Null without a time.
  torch::nn::GroupNorm norm2_ = nullptr;
  torch::nn::Conv2d conv2_ = nullptr;
  torch::nn::Conv2d shortcut_ = nullptr;  ///< Null if the widths are equal.
};

/// Dense, activation, dense: turns features of a step, or of a text, into those
/// of a network's width.
class ConditionEmbedding final : public torch::nn::Module {
 public:
  /// `activation`: a name of FindTokenActivation.
  ConditionEmbedding(std::int64_t in, std::int64_t out,
                     std::string_view activation = "silu", bool bias = true);

  /// x: [..., in]; returns [..., out].
  at::Tensor forward(const at::Tensor& x);

 private:
  TokenActivation activation_;
  Dense first_ = nullptr;
  Dense second_ = nullptr;
};

/// [numbers, width]: cosines and sines of numbers, f32.
at::Tensor NumberFeatures(const at::Tensor& numbers, std::int64_t width);

/// Normalisation in 32 groups of channels.
torch::nn::GroupNorm GroupsNorm(std::int64_t channels, double epsilon);

/// Upsamples `x` by two: each element appears four times.
at::Tensor TwiceTheEdges(const at::Tensor& x);

/// Throws Error(kInvalidArgument) unless both are positive and the width is
/// even: neighbouring numbers of a head turn together.
void RequireEvenHeads(std::int64_t heads, std::int64_t head_width);

/// Throws Error(kInvalidArgument) unless there are `widths`, all multiples of
/// the 32 groups, and `image_size` can be halved once per level after the
/// first.
void RequireLevels(const std::vector<std::int64_t>& widths,
                   std::int64_t image_size);

}  // namespace foretell::zoo
