#include "datasets/zoo/detr_layers.h"

#include <cmath>
#include <limits>

#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr double kDetrEpsilon = 1e-5;

/// Minus infinity where `mask` marks absent keys, for every head:
/// [batch x heads, 1, S]. As PyTorch makes it from a mask of keys, in the type
/// of the queries.
at::Tensor AddedMask(const at::Tensor& mask, std::int64_t heads,
                     at::ScalarType dtype) {
  const std::int64_t batch = mask.size(0);
  const std::int64_t keys = mask.size(1);
  at::Tensor added = at::zeros_like(mask, mask.options().dtype(dtype));
  added.masked_fill_(mask, -std::numeric_limits<double>::infinity());
  added = added.view({batch, 1, 1, keys}).expand({-1, heads, -1, -1});
  return added.reshape({batch * heads, 1, keys});
}

}  // namespace

WeighedAttention::WeighedAttention(const DetrWidths& widths) : widths_(widths) {
  RequireHeads(widths.width, widths.heads);
  in_weight_ = register_parameter("in_proj_weight",
                                  at::zeros({3 * widths.width, widths.width}));
  in_bias_ = register_parameter("in_proj_bias", at::zeros({3 * widths.width}));
  out_ = register_module("out_proj", Dense(widths.width, widths.width));
}

at::Tensor WeighedAttention::Heads(const at::Tensor& x,
                                   const at::Tensor& weight,
                                   const at::Tensor& bias) const {
  const at::Tensor y = at::linear(x, weight, bias);
  return y.view({y.size(0), y.size(1) * widths_.heads, -1}).transpose(0, 1);
}

at::Tensor WeighedAttention::Attend(const at::Tensor& query,
                                    const at::Tensor& key,
                                    const at::Tensor& value,
                                    const at::Tensor& mask) {
  const std::vector<at::Tensor> weights = in_weight_.chunk(3);
  const std::vector<at::Tensor> biases = in_bias_.chunk(3);
  at::Tensor q = Heads(query, weights[0], biases[0]);
  const at::Tensor k = Heads(key, weights[1], biases[1]);
  const at::Tensor v = Heads(value, weights[2], biases[2]);
  q = q * std::sqrt(static_cast<double>(widths_.heads) /
                    static_cast<double>(widths_.width));
  at::Tensor scores =
      mask.defined()
          ? at::baddbmm(AddedMask(mask, widths_.heads, query.scalar_type()), q,
                        k.transpose(1, 2))
          : at::bmm(q, k.transpose(1, 2));
  scores = at::softmax(scores, -1);
  if (is_training()) scores = at::dropout(scores, widths_.dropout, true);
  at::Tensor y = at::bmm(scores, v).transpose(0, 1).contiguous();
  y = out_->forward(y.view({-1, widths_.width}));
  y = y.view({query.size(0), query.size(1), widths_.width});
  scores.view({query.size(1), widths_.heads, query.size(0), -1}).mean(1);
  return y;
}

DetrLayer::DetrLayer(const DetrWidths& widths, bool is_decoder) {
  const std::int64_t width = widths.width;
  self_ =
      register_module("self_attn", std::make_shared<WeighedAttention>(widths));
  if (is_decoder) {
    cross_ = register_module("multihead_attn",
                             std::make_shared<WeighedAttention>(widths));
    cross_norm_ = register_module("norm_cross", Norm(width, kDetrEpsilon));
  }
  widen_ = register_module("linear1", Dense(width, widths.inner));
  narrow_ = register_module("linear2", Dense(widths.inner, width));
  self_norm_ = register_module("norm_self", Norm(width, kDetrEpsilon));
  last_norm_ = register_module("norm_last", Norm(width, kDetrEpsilon));
  dropout_ = register_module("dropout", torch::nn::Dropout(widths.dropout));
}

at::Tensor DetrLayer::Run(const at::Tensor& x, const DetrContext& context) {
  const ModuleScope scope(*this);
  const at::Tensor placed = x + (cross_ ? context.queries : context.positions);
  at::Tensor branch =
      self_->Attend(placed, placed, x, cross_ ? at::Tensor() : context.mask);
  at::Tensor y = self_norm_->forward(x + dropout_->forward(branch));
  if (cross_) {
    branch =
        cross_->Attend(y + context.queries, context.memory + context.positions,
                       context.memory, context.mask);
    y = cross_norm_->forward(y + dropout_->forward(branch));
  }
  branch = FeedForward(y);
  return last_norm_->forward(y + dropout_->forward(branch));
}

at::Tensor DetrLayer::FeedForward(const at::Tensor& x) {
  at::Tensor y = at::relu(widen_->forward(x));
  y = dropout_->forward(y);
  return narrow_->forward(y);
}

}  // namespace foretell::zoo
