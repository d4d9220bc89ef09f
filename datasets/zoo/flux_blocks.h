#pragma once

#include <torch/nn/module.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/zoo/flux_attention.h"

namespace foretell::zoo {

/// Norm without weights, scaled and shifted per channel by `parts` tensors that
/// one product makes of the condition: AdaLayerNormZero and its kin.
class FluxNorm final : public torch::nn::Module {
 public:
  FluxNorm(std::int64_t width, std::int64_t parts)
      : width_(width), parts_(parts) {
    linear_ = register_module("linear", Dense(width, parts * width));
  }

  /// x: [batch, tokens, width], condition: [batch, width]. The first of the
  /// result is the normalised x, the others, from the third part on, are
  /// [batch, width].
  std::vector<at::Tensor> forward(const at::Tensor& x,
                                  const at::Tensor& condition) {
    const ModuleScope scope(*this);
    const at::Tensor all = linear_->forward(at::silu(condition));
    std::vector<at::Tensor> parts = all.chunk(parts_, 1);
    std::vector<at::Tensor> result(parts.begin() + 2, parts.end());
    result.insert(result.begin(), Modulated(x, parts[0], parts[1]));
    return result;
  }

  /// The norm of `x` times 1 + `scale`, plus `shift`.
  at::Tensor Modulated(const at::Tensor& x, const at::Tensor& shift,
                       const at::Tensor& scale) const {
    const at::Tensor y = at::layer_norm(x, {width_}, {}, {}, kEpsilon);
    return y * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1);
  }

 private:
  static constexpr double kEpsilon = 1e-6;

  std::int64_t width_;
  std::int64_t parts_;
  Dense linear_ = nullptr;
};

/// Dense, GELU by tanh, dense.
struct FluxFeedForward final : torch::nn::Module {
  explicit FluxFeedForward(std::int64_t width) {
    proj = register_module("proj", Dense(width, 4 * width));
    out = register_module("out", Dense(4 * width, width));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = proj->forward(x);
    y = at::gelu(y, "tanh");
    return out->forward(y);
  }

  Dense proj = nullptr;
  Dense out = nullptr;
};

/// A block with weights of its own for the image and for the text.
class FluxBlock final : public torch::nn::Module {
 public:
  explicit FluxBlock(const FluxShape& shape) {
    const std::int64_t width = shape.Width();
    norm_ = register_module("norm1", std::make_shared<FluxNorm>(width, 6));
    text_norm_ =
        register_module("norm1_context", std::make_shared<FluxNorm>(width, 6));
    attention_ = register_module(
        "attn", std::make_shared<FluxAttention>(shape, /*is_joint=*/true));
    mlp_ = register_module("ff", std::make_shared<FluxFeedForward>(width));
    text_mlp_ =
        register_module("ff_context", std::make_shared<FluxFeedForward>(width));
  }

  std::array<at::Tensor, 2> forward(const at::Tensor& image,
                                    const at::Tensor& text,
                                    const at::Tensor& condition,
                                    const RotaryTables& tables) {
    const ModuleScope scope(*this);
    const auto parts = norm_->forward(image, condition);
    const auto text_parts = text_norm_->forward(text, condition);
    const auto attended = attention_->Joint(parts[0], text_parts[0], tables);
    const at::Tensor y = Finish(*norm_, *mlp_, image, attended[0], parts);
    return {y, Finish(*text_norm_, *text_mlp_, text, attended[1], text_parts)};
  }

 private:
  /// Adds attention's result and the feed-forward part, both gated. `parts`:
  /// gate, shift, scale and gate after the first.
  static at::Tensor Finish(const FluxNorm& norm, FluxFeedForward& mlp,
                           const at::Tensor& x, const at::Tensor& attended,
                           const std::vector<at::Tensor>& parts) {
    const at::Tensor gated = parts[1].unsqueeze(1) * attended;
    const at::Tensor y = x + gated;
    const at::Tensor normed = norm.Modulated(y, parts[2], parts[3]);
    at::Tensor more = mlp.forward(normed);
    more = parts[4].unsqueeze(1) * more;
    return y + more;
  }

  std::shared_ptr<FluxNorm> norm_;
  std::shared_ptr<FluxNorm> text_norm_;
  std::shared_ptr<FluxAttention> attention_;
  std::shared_ptr<FluxFeedForward> mlp_;
  std::shared_ptr<FluxFeedForward> text_mlp_;
};

/// A block over text and image at once; attention and feed-forward part read
/// the same norm.
class FluxSingleBlock final : public torch::nn::Module {
 public:
  explicit FluxSingleBlock(const FluxShape& shape) {
    const std::int64_t width = shape.Width();
    norm_ = register_module("norm", std::make_shared<FluxNorm>(width, 3));
    proj_mlp_ = register_module("proj_mlp", Dense(width, 4 * width));
    proj_out_ = register_module("proj_out", Dense(5 * width, width));
    attention_ = register_module(
        "attn", std::make_shared<FluxAttention>(shape, /*is_joint=*/false));
  }

  at::Tensor forward(const at::Tensor& x, const at::Tensor& condition,
                     const RotaryTables& tables) {
    const ModuleScope scope(*this);
    const auto parts = norm_->forward(x, condition);
    const at::Tensor mlp = at::gelu(proj_mlp_->forward(parts[0]), "tanh");
    const at::Tensor attended = attention_->Single(parts[0], tables);
    at::Tensor y = at::cat({attended, mlp}, 2);
    y = parts[1].unsqueeze(1) * proj_out_->forward(y);
    return x + y;
  }

 private:
  std::shared_ptr<FluxNorm> norm_;
  Dense proj_mlp_ = nullptr;
  Dense proj_out_ = nullptr;
  std::shared_ptr<FluxAttention> attention_;
};

}  // namespace foretell::zoo
