#include "datasets/zoo/joint_attention.h"

#include <ATen/ATen.h>

#include <vector>

namespace foretell::zoo {
namespace {

/// x [batch, heads, tokens, width], whose neighbouring numbers turn together.
at::Tensor TurnPairs(const at::Tensor& x, const RotaryTables& tables) {
  std::vector<std::int64_t> pairs = x.sizes().vec();
  pairs.back() /= 2;
  pairs.push_back(2);
  const std::vector<at::Tensor> parts = x.reshape(pairs).unbind(-1);
  const at::Tensor turned = at::stack({-parts[1], parts[0]}, -1).flatten(3);
  return (x.to(at::kFloat) * tables.cosine +
          turned.to(at::kFloat) * tables.sine)
      .to(x.scalar_type());
}

}  // namespace

RotaryTables PairedTables(std::int64_t tokens, std::int64_t head_width,
                          double base, const at::Tensor& like) {
  const at::TensorOptions options = like.options().dtype(at::kFloat);
  const std::int64_t half = head_width / 2;
  const at::Tensor frequencies =
      at::pow(base, at::arange(half, options) / -static_cast<double>(half));
  const at::Tensor angles = at::outer(at::arange(tokens, options), frequencies);
  return {at::cos(angles).repeat_interleave(2, 1),
          at::sin(angles).repeat_interleave(2, 1)};
}

at::Tensor AttendTurned(const std::array<at::Tensor, 3>& parts,
                        const RotaryTables& tables) {
  const bool turns = tables.cosine.defined();
  const at::Tensor query = turns ? TurnPairs(parts[0], tables) : parts[0];
  const at::Tensor key = turns ? TurnPairs(parts[1], tables) : parts[1];
  const at::Tensor y = at::scaled_dot_product_attention(query, key, parts[2]);
  return MergeHeads(y);
}

JointAttention::JointAttention(const JointShape& shape, Streams streams)
    : text_first_(shape.text_first),
      own_(shape, *this, {"to_q", "to_k", "to_v", "norm_q", "norm_k"}) {
  if (streams == Streams::kOne) return;
  to_out_->Add(Dense(shape.Width(), shape.Width(), shape.bias));
  register_module("to_out", to_out_);
  if (streams == Streams::kImage) return;
  added_ = std::make_unique<StreamProjections>(
      shape, *this,
      std::array{"add_q_proj", "add_k_proj", "add_v_proj", "norm_added_q",
                 "norm_added_k"});
  if (streams == Streams::kTextRead) return;
  to_add_out_ = register_module(
      "to_add_out", Dense(shape.Width(), shape.Width(), shape.bias));
}

at::Tensor JointAttention::Single(const at::Tensor& x,
                                  const RotaryTables& tables) {
  const ModuleScope scope(*this);
  const at::Tensor y = AttendTurned(own_.Project(x), tables);
  return to_out_->is_empty() ? y : to_out_->forward(y);
}

std::array<at::Tensor, 2> JointAttention::Joint(const at::Tensor& image,
                                                const at::Tensor& text,
                                                const RotaryTables& tables) {
  const ModuleScope scope(*this);
  std::array<at::Tensor, 3> parts = own_.Project(image);
  const std::array<at::Tensor, 3> more = added_->Project(text);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = text_first_ ? at::cat({more[i], parts[i]}, 2)
                           : at::cat({parts[i], more[i]}, 2);
  }
  const at::Tensor y = AttendTurned(parts, tables);
  const std::int64_t first = text_first_ ? text.size(1) : image.size(1);
  const at::Tensor of_first = y.slice(1, 0, first);
  const at::Tensor of_second = y.slice(1, first);
  const at::Tensor& of_image = text_first_ ? of_second : of_first;
  const at::Tensor& of_text = text_first_ ? of_first : of_second;
  at::Tensor text_result;
  if (to_add_out_) text_result = to_add_out_->forward(of_text);
  return {to_out_->forward(of_image), text_result};
}

}  // namespace foretell::zoo
