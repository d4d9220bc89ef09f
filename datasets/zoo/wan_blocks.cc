#include "datasets/zoo/wan_blocks.h"

#include <ATen/ATen.h>

#include <vector>

namespace foretell::zoo {
namespace {

constexpr double kWanEpsilon = 1e-6;

/// x [batch, tokens, heads, width], whose neighbouring numbers turn together,
/// into a new tensor that is filled in two strides.
at::Tensor TurnInto(const at::Tensor& x, const RotaryTables& tables) {
  const at::Tensor pairs = x.unflatten(-1, {x.size(-1) / 2, 2});
  const std::vector<at::Tensor> parts = pairs.unbind(-1);
  const at::Tensor cosine = tables.cosine.slice(-1, 0, std::nullopt, 2);
  const at::Tensor sine = tables.sine.slice(-1, 1, std::nullopt, 2);
  at::Tensor y = at::empty_like(x);
  y.slice(-1, 0, std::nullopt, 2).copy_(parts[0] * cosine - parts[1] * sine);
  y.slice(-1, 1, std::nullopt, 2).copy_(parts[0] * sine + parts[1] * cosine);
  return y.to(x.scalar_type());
}

}  // namespace

at::Tensor WideNorm(const at::Tensor& x, const at::Tensor& shift,
                    const at::Tensor& scale) {
  const at::Tensor y =
      at::layer_norm(x.to(at::kFloat), {x.size(-1)}, {}, {}, kWanEpsilon);
  return (y * (1 + scale) + shift).to(x.scalar_type());
}

WanAttention::WanAttention(const WanShape& shape) : heads_(shape.heads) {
  const std::int64_t width = shape.width;
  q_ = register_module("to_q", Dense(width, width));
  k_ = register_module("to_k", Dense(width, width));
  v_ = register_module("to_v", Dense(width, width));
  out_->Add(Dense(width, width));
  register_module("to_out", out_);
  q_norm_ = register_module(
      "norm_q", std::make_shared<TokenNorm>(NormKind::kFused, width));
  k_norm_ = register_module(
      "norm_k", std::make_shared<TokenNorm>(NormKind::kFused, width));
}

at::Tensor WanAttention::forward(const at::Tensor& x, const at::Tensor& context,
                                 const RotaryTables& tables) {
  const ModuleScope scope(*this);
  at::Tensor query = q_->forward(x);
  at::Tensor key = k_->forward(context);
  at::Tensor value = v_->forward(context);
  query = q_norm_->forward(query);
  key = k_norm_->forward(key);
  const std::vector<std::int64_t> split = {heads_, x.size(-1) / heads_};
  query = query.unflatten(2, split);
  key = key.unflatten(2, split);
  value = value.unflatten(2, split);
  if (tables.cosine.defined()) {
    query = TurnInto(query, tables);
    key = TurnInto(key, tables);
  }
  at::Tensor y = at::scaled_dot_product_attention(
      query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2));
  y = MergeHeads(y);
  return out_->forward(y);
}

WanBlock::WanBlock(const WanShape& shape) {
  own_ = register_module("attn1", std::make_shared<WanAttention>(shape));
  cross_ = register_module("attn2", std::make_shared<WanAttention>(shape));
  text_norm_ = register_module("norm2", Norm(shape.width, kWanEpsilon));
  mlp_ = register_module(
      "ffn", std::make_shared<TanhFeedForward>(shape.width, shape.inner));
  table_ = register_parameter("scale_shift_table",
                              at::ones({1, kWanBlockParts, shape.width}));
}

at::Tensor WanBlock::forward(const at::Tensor& video, const at::Tensor& text,
                             const at::Tensor& condition,
                             const RotaryTables& tables) {
  const ModuleScope scope(*this);
  const at::ScalarType dtype = video.scalar_type();
  const auto parts =
      (table_ + condition.to(at::kFloat)).chunk(kWanBlockParts, 1);
  at::Tensor normed = WideNorm(video, parts[0], parts[1]);
  at::Tensor branch = own_->forward(normed, normed, tables);
  at::Tensor y = (video.to(at::kFloat) + branch * parts[2]).to(dtype);
  normed = at::layer_norm(y.to(at::kFloat), {y.size(-1)},
                          text_norm_->weight.to(at::kFloat),
                          text_norm_->bias.to(at::kFloat), kWanEpsilon)
               .to(dtype);
  branch = cross_->forward(normed, text, {});
  y = y + branch;
  normed = WideNorm(y, parts[3], parts[4]);
  branch = mlp_->forward(normed);
  return (y.to(at::kFloat) + branch.to(at::kFloat) * parts[5]).to(dtype);
}

}  // namespace foretell::zoo
