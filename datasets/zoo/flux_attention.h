#pragma once

#include <torch/nn/module.h>

#include <array>
#include <cstdint>
#include <memory>

#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/network.h"
#include "datasets/zoo/rotary.h"
#include "datasets/zoo/token_norm.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Sizes of FLUX's blocks.
struct FluxShape {
  std::int64_t heads = 0;
  std::int64_t head_width = 0;

  std::int64_t Width() const { return heads * head_width; }
};

/// Queries, keys and values of one stream.
class FluxProjections {
 public:
  /// `names`: of the products and of the norms of queries and keys.
  FluxProjections(const FluxShape& shape, torch::nn::Module& parent,
                  const std::array<const char*, 5>& names)
      : heads_(shape.heads) {
    const std::int64_t width = shape.Width();
    for (std::size_t i = 0; i < dense_.size(); ++i) {
      dense_[i] = parent.register_module(names[i], Dense(width, width));
    }
    for (std::size_t i = 0; i < norms_.size(); ++i) {
      norms_[i] = parent.register_module(
          names[3 + i],
          std::make_shared<TokenNorm>(NormKind::kRms, shape.head_width));
    }
  }

  /// [batch, heads, tokens, head width] each.
  std::array<at::Tensor, 3> Project(const at::Tensor& x) {
    std::array<at::Tensor, 3> result;
    for (std::size_t i = 0; i < dense_.size(); ++i) {
      result[i] = SplitHeads(dense_[i]->forward(x), heads_);
    }
    for (std::size_t i = 0; i < norms_.size(); ++i) {
      result[i] = norms_[i]->forward(result[i]);
    }
    return result;
  }

 private:
  std::int64_t heads_;
  std::array<Dense, 3> dense_ = {nullptr, nullptr, nullptr};
  std::array<std::shared_ptr<TokenNorm>, 2> norms_;
};

/// Attention of both streams together; in single blocks there is one.
class FluxAttention final : public torch::nn::Module {
 public:
  FluxAttention(const FluxShape& shape, bool is_joint)
      : own_(shape, *this, {"to_q", "to_k", "to_v", "norm_q", "norm_k"}) {
    if (!is_joint) return;
    added_ = std::make_unique<FluxProjections>(
        shape, *this,
        std::array{"add_q_proj", "add_k_proj", "add_v_proj", "norm_added_q",
                   "norm_added_k"});
    to_out_->Add(Dense(shape.Width(), shape.Width()));
    register_module("to_out", to_out_);
    to_add_out_ =
        register_module("to_add_out", Dense(shape.Width(), shape.Width()));
  }

  /// x: [batch, tokens, width]; returns the same shape.
  at::Tensor Single(const at::Tensor& x, const RotaryTables& tables);
  /// The results for the image and for the text.
  std::array<at::Tensor, 2> Joint(const at::Tensor& image,
                                  const at::Tensor& text,
                                  const RotaryTables& tables);

 private:
  FluxProjections own_;
  std::unique_ptr<FluxProjections> added_;
  Chain to_out_;
  Dense to_add_out_ = nullptr;
};

}  // namespace foretell::zoo
