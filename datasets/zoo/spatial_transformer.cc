#include "datasets/zoo/spatial_transformer.h"

#include <ATen/Functions.h>

#include "datasets/zoo/block_list.h"
#include "datasets/zoo/diffusion_blocks.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr double kSpatialEpsilon = 1e-6;
constexpr double kTokenEpsilon = 1e-5;

}  // namespace

CrossAttention::CrossAttention(std::int64_t width, std::int64_t context,
                               std::int64_t heads, bool bias)
    : heads_(heads) {
  RequireHeads(width, heads);
  q_ = register_module("to_q", Dense(width, width, bias));
  k_ = register_module("to_k", Dense(context, width, bias));
  v_ = register_module("to_v", Dense(context, width, bias));
  out_ = register_module("to_out", Dense(width, width));
}

at::Tensor CrossAttention::forward(const at::Tensor& x,
                                   const at::Tensor& context) {
  const ModuleScope scope(*this);
  const at::Tensor q = SplitHeads(q_->forward(x), heads_);
  const at::Tensor k = SplitHeads(k_->forward(context), heads_);
  const at::Tensor v = SplitHeads(v_->forward(context), heads_);
  at::Tensor y = at::scaled_dot_product_attention(q, k, v);
  y = MergeHeads(y);
  y = out_->forward(y);
  return y / 1.0;  // A factor of the reference code, which is always 1.
}

/// Attention among positions, attention to the text, and a gated layer.
class SpatialTransformer::Block final : public torch::nn::Module {
 public:
  explicit Block(const SpatialTransformerShape& shape) {
    const std::int64_t width = shape.width;
    norm1_ = register_module("norm1", Norm(width, kTokenEpsilon));
    self_ = register_module(
        "attn1", std::make_shared<CrossAttention>(width, width, shape.heads));
    norm2_ = register_module("norm2", Norm(width, kTokenEpsilon));
    cross_ = register_module("attn2", std::make_shared<CrossAttention>(
                                          width, shape.context, shape.heads));
    norm3_ = register_module("norm3", Norm(width, kTokenEpsilon));
    widen_ = register_module("ff_proj", Dense(width, 8 * width));
    narrow_ = register_module("ff_out", Dense(4 * width, width));
  }

  at::Tensor forward(const at::Tensor& x, const at::Tensor& text) {
    const ModuleScope scope(*this);
    at::Tensor normed = norm1_->forward(x);
    at::Tensor branch = self_->forward(normed, normed);
    at::Tensor y = branch + x;
    normed = norm2_->forward(y);
    branch = cross_->forward(normed, text);
    y = branch + y;
    normed = norm3_->forward(y);
    branch = Gated(normed);
    return branch + y;
  }

 private:
  at::Tensor Gated(const at::Tensor& x) {
    at::Tensor y = widen_->forward(x);
    const std::vector<at::Tensor> halves = y.chunk(2, -1);
    const at::Tensor gate = at::gelu(halves[1]);
    y = halves[0] * gate;
    return narrow_->forward(y);
  }

  torch::nn::LayerNorm norm1_ = nullptr;
  std::shared_ptr<CrossAttention> self_;
  torch::nn::LayerNorm norm2_ = nullptr;
  std::shared_ptr<CrossAttention> cross_;
  torch::nn::LayerNorm norm3_ = nullptr;
  Dense widen_ = nullptr;
  Dense narrow_ = nullptr;
};

SpatialTransformer::SpatialTransformer(const SpatialTransformerShape& shape) {
  const std::int64_t width = shape.width;
  norm_ = register_module("norm", GroupsNorm(width, kSpatialEpsilon));
  blocks_ = AddBlockList(
      *this, "transformer_blocks", shape.depth,
      [&](std::int64_t) { return std::make_shared<Block>(shape); });
  if (shape.is_linear) {
    dense_in_ = register_module("proj_in", Dense(width, width));
    dense_out_ = register_module("proj_out", Dense(width, width));
    return;
  }
  const ConvShape pointwise = {.in = width, .out = width};
  conv_in_ = register_module("proj_in", Conv(pointwise, true));
  conv_out_ = register_module("proj_out", Conv(pointwise, true));
}

at::Tensor SpatialTransformer::TokensOf(const at::Tensor& image) {
  at::Tensor y = conv_in_ ? conv_in_->forward(image) : image;
  y = y.permute({0, 2, 3, 1}).reshape({y.size(0), -1, y.size(1)});
  return dense_in_ ? dense_in_->forward(y) : y;
}

at::Tensor SpatialTransformer::ImageOf(const at::Tensor& tokens,
                                       const at::Tensor& like) {
  at::Tensor y = dense_out_ ? dense_out_->forward(tokens) : tokens;
  y = y.view({like.size(0), like.size(2), like.size(3), like.size(1)})
          .permute({0, 3, 1, 2})
          .contiguous();
  return conv_out_ ? conv_out_->forward(y) : y;
}

at::Tensor SpatialTransformer::forward(const at::Tensor& x,
                                       const at::Tensor& text) {
  const ModuleScope scope(*this);
  at::Tensor y = norm_->forward(x);
  y = TokensOf(y);
  for (const auto& block : blocks_) y = block->forward(y, text);
  y = ImageOf(y, x);
  return y + x;
}

}  // namespace foretell::zoo
