#include "datasets/zoo/encoder_block.h"

#include <ATen/Functions.h>

#include <cmath>
#include <optional>

#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr double kEncoderEpsilon = 1e-5;
constexpr double kLargestHalf = 65504 - 1000;

at::Tensor QuickGelu(const at::Tensor& x) {
  at::Tensor gate = x * 1.702;
  gate = at::sigmoid(gate);
  return x * gate;
}

}  // namespace

EncoderBlock::EncoderBlock(const EncoderBlockOptions& options)
    : options_(options) {
  const std::int64_t width = options.width;
  RequireHeads(width, options.heads);
  attention_norm_ = register_module("norm1", Norm(width, kEncoderEpsilon));
  q_ = register_module("q_proj", Dense(width, width));
  k_ = register_module("k_proj", Dense(width, width, options.key_bias));
  v_ = register_module("v_proj", Dense(width, width));
  out_ = register_module("out_proj", Dense(width, width));
  mlp_norm_ = register_module("norm2", Norm(width, kEncoderEpsilon));
  widen_ = register_module("fc1", Dense(width, options.inner));
  narrow_ = register_module("fc2", Dense(options.inner, width));
}

at::Tensor EncoderBlock::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  at::Tensor y = attention_norm_->forward(x);
  y = Attend(y);
  y = at::add(x, y);
  const at::Tensor residual = y;
  y = mlp_norm_->forward(y);
  y = FeedForward(y);
  y = at::add(residual, y);
  if (!options_.is_whisper || y.scalar_type() != at::kHalf) return y;
  return at::clamp(y, -kLargestHalf, kLargestHalf);
}

at::Tensor EncoderBlock::Attend(const at::Tensor& x) {
  const std::int64_t heads = options_.heads;
  at::Tensor q = q_->forward(x);
  std::optional<double> scale;
  if (options_.is_whisper) {
    q = q * (1 / std::sqrt(static_cast<double>(options_.width / heads)));
    scale = 1.0;
  }
  q = SplitHeads(q, heads);
  const at::Tensor k = SplitHeads(k_->forward(x), heads);
  const at::Tensor v = SplitHeads(v_->forward(x), heads);
  at::Tensor y = at::scaled_dot_product_attention(q, k, v, {}, /*dropout_p=*/0,
                                                  options_.is_causal, scale);
  y = MergeHeads(y);
  return out_->forward(y);
}

at::Tensor EncoderBlock::FeedForward(const at::Tensor& x) {
  at::Tensor y = widen_->forward(x);
  y = options_.quick_gelu ? QuickGelu(y) : at::gelu(y);
  return narrow_->forward(y);
}

Chain EncoderBlocks(std::int64_t depth, const EncoderBlockOptions& options) {
  Chain blocks;
  for (std::int64_t i = 0; i < depth; ++i) {
    blocks->Add(std::make_shared<EncoderBlock>(options));
  }
  return blocks;
}

}  // namespace foretell::zoo
