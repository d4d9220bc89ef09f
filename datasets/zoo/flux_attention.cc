#include "datasets/zoo/flux_attention.h"

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

at::Tensor AttendFlux(const std::array<at::Tensor, 3>& parts,
                      const RotaryTables& tables) {
  const at::Tensor query = TurnPairs(parts[0], tables);
  const at::Tensor key = TurnPairs(parts[1], tables);
  const at::Tensor y = at::scaled_dot_product_attention(query, key, parts[2]);
  return MergeHeads(y);
}

}  // namespace

at::Tensor FluxAttention::Single(const at::Tensor& x,
                                 const RotaryTables& tables) {
  const ModuleScope scope(*this);
  return AttendFlux(own_.Project(x), tables);
}

std::array<at::Tensor, 2> FluxAttention::Joint(const at::Tensor& image,
                                               const at::Tensor& text,
                                               const RotaryTables& tables) {
  const ModuleScope scope(*this);
  std::array<at::Tensor, 3> parts = own_.Project(image);
  const std::array<at::Tensor, 3> more = added_->Project(text);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = at::cat({more[i], parts[i]}, 2);
  }
  const at::Tensor y = AttendFlux(parts, tables);
  const std::int64_t words = text.size(1);
  const at::Tensor of_text = y.slice(1, 0, words);
  const at::Tensor of_image = y.slice(1, words);
  return {to_out_->forward(of_image), to_add_out_->forward(of_text)};
}

}  // namespace foretell::zoo
