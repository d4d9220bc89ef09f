#include "datasets/zoo/diffusion_blocks.h"

#include <ATen/Functions.h>

#include "datasets/zoo/layers.h"

namespace foretell::zoo {
namespace {

constexpr std::int64_t kDiffusionGroups = 32;
constexpr double kResidualEpsilon = 1e-5;
constexpr double kSpatialEpsilon = 1e-6;
constexpr double kTokenEpsilon = 1e-5;

}  // namespace

torch::nn::GroupNorm GroupsNorm(std::int64_t channels, double epsilon) {
  return torch::nn::GroupNorm(
      torch::nn::GroupNormOptions(kDiffusionGroups, channels).eps(epsilon));
}

TimedResidualBlock::TimedResidualBlock(std::int64_t in, std::int64_t out,
                                       std::int64_t time) {
  norm1_ = register_module("norm1", GroupsNorm(in, kResidualEpsilon));
  conv1_ =
      register_module("conv1", Conv({.in = in, .out = out, .kernel = 3}, true));
  time_ = register_module("time_emb_proj", Dense(time, out));
  norm2_ = register_module("norm2", GroupsNorm(out, kResidualEpsilon));
  conv2_ = register_module("conv2",
                           Conv({.in = out, .out = out, .kernel = 3}, true));
  if (in == out) return;
  shortcut_ =
      register_module("conv_shortcut", Conv({.in = in, .out = out}, true));
}

at::Tensor TimedResidualBlock::forward(const at::Tensor& x,
                                       const at::Tensor& time) {
  at::Tensor y = norm1_->forward(x);
  y = at::silu(y);
  y = conv1_->forward(y);
  at::Tensor shift = at::silu(time);
  shift = time_->forward(shift).unsqueeze(2).unsqueeze(3);
  y = y + shift;
  y = norm2_->forward(y);
  y = at::silu(y);
  y = conv2_->forward(y);
  const at::Tensor direct = shortcut_ ? shortcut_->forward(x) : x;
  const at::Tensor sum = direct + y;
  return sum / 1.0;  // A factor of the reference's, which always is 1.
}

CrossAttention::CrossAttention(std::int64_t width, std::int64_t context,
                               std::int64_t heads)
    : heads_(heads) {
  RequireHeads(width, heads);
  q_ = register_module("to_q", Dense(width, width, false));
  k_ = register_module("to_k", Dense(context, width, false));
  v_ = register_module("to_v", Dense(context, width, false));
  out_ = register_module("to_out", Dense(width, width));
}

at::Tensor CrossAttention::forward(const at::Tensor& x,
                                   const at::Tensor& context) {
  const at::Tensor q = SplitHeads(q_->forward(x), heads_);
  const at::Tensor k = SplitHeads(k_->forward(context), heads_);
  const at::Tensor v = SplitHeads(v_->forward(context), heads_);
  at::Tensor y = at::scaled_dot_product_attention(q, k, v);
  y = MergeHeads(y);
  y = out_->forward(y);
  return y / 1.0;  // As in TimedResidualBlock.
}

SpatialTransformer::SpatialTransformer(std::int64_t width, std::int64_t context,
                                       std::int64_t heads) {
  norm_ = register_module("norm", GroupsNorm(width, kSpatialEpsilon));
  in_ = register_module("proj_in", Conv({.in = width, .out = width}, true));
  norm1_ = register_module("norm1", Norm(width, kTokenEpsilon));
  self_ = register_module(
      "attn1", std::make_shared<CrossAttention>(width, width, heads));
  norm2_ = register_module("norm2", Norm(width, kTokenEpsilon));
  cross_ = register_module(
      "attn2", std::make_shared<CrossAttention>(width, context, heads));
  norm3_ = register_module("norm3", Norm(width, kTokenEpsilon));
  widen_ = register_module("ff_proj", Dense(width, 8 * width));
  narrow_ = register_module("ff_out", Dense(4 * width, width));
  out_ = register_module("proj_out", Conv({.in = width, .out = width}, true));
}

at::Tensor SpatialTransformer::forward(const at::Tensor& x,
                                       const at::Tensor& text) {
  at::Tensor y = norm_->forward(x);
  y = in_->forward(y);
  y = y.permute({0, 2, 3, 1}).reshape({x.size(0), -1, x.size(1)});
  y = Block(y, text);
  y = y.view({x.size(0), x.size(2), x.size(3), x.size(1)})
          .permute({0, 3, 1, 2})
          .contiguous();
  y = out_->forward(y);
  return y + x;
}

at::Tensor SpatialTransformer::Block(const at::Tensor& x,
                                     const at::Tensor& text) {
  at::Tensor normed = norm1_->forward(x);
  at::Tensor branch = self_->forward(normed, normed);
  at::Tensor y = branch + x;
  normed = norm2_->forward(y);
  branch = cross_->forward(normed, text);
  y = branch + y;
  normed = norm3_->forward(y);
  branch = FeedForward(normed);
  return branch + y;
}

at::Tensor SpatialTransformer::FeedForward(const at::Tensor& x) {
  at::Tensor y = widen_->forward(x);
  const std::vector<at::Tensor> halves = y.chunk(2, -1);
  const at::Tensor gate = at::gelu(halves[1]);
  y = halves[0] * gate;
  return narrow_->forward(y);
}

}  // namespace foretell::zoo
