#pragma once

#include <torch/nn/module.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datasets/zoo/joint_attention.h"

namespace foretell::zoo {

/// Norm without weights, scaled and shifted per channel by `parts` tensors that
/// one product makes of the condition: AdaLayerNormZero and its kin.
class AdaptiveNorm final : public torch::nn::Module {
 public:
  AdaptiveNorm(std::int64_t width, std::int64_t parts, bool bias = true)
      : parts_(parts) {
    linear_ = register_module("linear", Dense(width, parts * width, bias));
  }

  /// x: [batch, tokens, width], condition: [batch, width]. The first of the
  /// result is the normalised x, the others, from the third part on, are
  /// [batch, width]. Of nine parts the last three make a second normalised x,
  /// the sixth of the result, and its gate.
  std::vector<at::Tensor> forward(const at::Tensor& x,
                                  const at::Tensor& condition) {
    const ModuleScope scope(*this);
    const at::Tensor all = linear_->forward(at::silu(condition));
    const std::vector<at::Tensor> parts = all.chunk(parts_, 1);
    const at::Tensor y = Normed(x);
    std::vector<at::Tensor> result = {Modulated(y, parts[0], parts[1])};
    result.insert(result.end(), parts.begin() + 2, parts.end());
    if (parts_ == kTwiceParts) {
      result[5] = Modulated(y, parts[6], parts[7]);
      result[6] = parts[8];
      result.pop_back();
    }
    return result;
  }

  static at::Tensor Normed(const at::Tensor& x) {
    return at::layer_norm(x, {x.size(-1)}, {}, {}, kEpsilon);
  }

  /// y times 1 + `scale`, plus `shift`.
  static at::Tensor Modulated(const at::Tensor& y, const at::Tensor& shift,
                              const at::Tensor& scale) {
    return y * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1);
  }

  static constexpr std::int64_t kTwiceParts = 9;

 private:
  static constexpr double kEpsilon = 1e-6;

  std::int64_t parts_;
  Dense linear_ = nullptr;
};

/// x plus `branch` times a `gate` per channel.
inline at::Tensor AddGated(const at::Tensor& x, const at::Tensor& branch,
                           const at::Tensor& gate) {
  const at::Tensor gated = gate.unsqueeze(1) * branch;
  return x + gated;
}

/// Dense, GELU by tanh, dense, with the names of diffusers' FeedForward.
struct TanhFeedForward final : torch::nn::Module {
  TanhFeedForward(std::int64_t width, std::int64_t inner) {
    const auto net =
        register_module("net", std::make_shared<torch::nn::Module>());
    const auto first =
        net->register_module("0", std::make_shared<torch::nn::Module>());
    proj = first->register_module("proj", Dense(width, inner));
    out = net->register_module("2", Dense(inner, width));
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

/// What differs between the blocks of one network.
struct JointBlockKind {
  bool attends_twice = false;  ///< The image, by itself too (SD 3.5 medium).
  bool is_last = false;        ///< Its text has no result.
};

/// A block with weights of its own for the image and for the text.
class JointBlock final : public torch::nn::Module {
 public:
  explicit JointBlock(const JointShape& shape, const JointBlockKind& kind = {})
      : kind_(kind) {
    const std::int64_t width = shape.Width();
    norm_ = AddNorm("norm1", width,
                    kind.attends_twice ? AdaptiveNorm::kTwiceParts : 6);
    text_norm_ = AddNorm("norm1_context", width, kind.is_last ? 2 : 6);
    attention_ = register_module(
        "attn", std::make_shared<JointAttention>(
                    shape, kind.is_last ? Streams::kTextRead : Streams::kBoth));
    if (kind.attends_twice) {
      second_ = register_module(
          "attn2", std::make_shared<JointAttention>(shape, Streams::kImage));
    }
    mlp_ = AddFeedForward("ff", width);
    if (!kind.is_last) text_mlp_ = AddFeedForward("ff_context", width);
  }

  /// The image and the text, which is undefined after a last block.
  std::array<at::Tensor, 2> forward(const at::Tensor& image,
                                    const at::Tensor& text,
                                    const at::Tensor& condition,
                                    const RotaryTables& tables) {
    const ModuleScope scope(*this);
    const auto parts = norm_->forward(image, condition);
    const auto text_parts = text_norm_->forward(text, condition);
    const auto attended = attention_->Joint(parts[0], text_parts[0], tables);
    at::Tensor y = AddGated(image, attended[0], parts[1]);
    if (second_) {
      const at::Tensor again = second_->Single(parts[5], {});
      y = AddGated(y, again, parts[6]);
    }
    y = Widened(*mlp_, y, parts);
    if (kind_.is_last) return {y, at::Tensor()};
    const at::Tensor z = AddGated(text, attended[1], text_parts[1]);
    return {y, Widened(*text_mlp_, z, text_parts)};
  }

 private:
  std::shared_ptr<AdaptiveNorm> AddNorm(const std::string& name,
                                        std::int64_t width,
                                        std::int64_t parts) {
    return register_module(name, std::make_shared<AdaptiveNorm>(width, parts));
  }
  std::shared_ptr<TanhFeedForward> AddFeedForward(const std::string& name,
                                                  std::int64_t width) {
    return register_module(name,
                           std::make_shared<TanhFeedForward>(width, 4 * width));
  }

  /// Adds the feed-forward part. `parts`: shift, scale and gate of it after the
  /// second.
  static at::Tensor Widened(TanhFeedForward& mlp, const at::Tensor& x,
                            const std::vector<at::Tensor>& parts) {
    at::Tensor normed = AdaptiveNorm::Normed(x);
    normed = AdaptiveNorm::Modulated(normed, parts[2], parts[3]);
    return AddGated(x, mlp.forward(normed), parts[4]);
  }

  JointBlockKind kind_;
  std::shared_ptr<AdaptiveNorm> norm_;
  std::shared_ptr<AdaptiveNorm> text_norm_;
  std::shared_ptr<JointAttention> attention_;
  std::shared_ptr<JointAttention> second_;  ///< Null without.
  std::shared_ptr<TanhFeedForward> mlp_;
  std::shared_ptr<TanhFeedForward> text_mlp_;  ///< Null in a last block.
};

/// A block over text and image at once; attention and feed-forward part read
/// the same norm.
class FluxSingleBlock final : public torch::nn::Module {
 public:
  explicit FluxSingleBlock(const JointShape& shape) {
    const std::int64_t width = shape.Width();
    norm_ = register_module("norm", std::make_shared<AdaptiveNorm>(width, 3));
    proj_mlp_ = register_module("proj_mlp", Dense(width, 4 * width));
    proj_out_ = register_module("proj_out", Dense(5 * width, width));
    attention_ = register_module(
        "attn", std::make_shared<JointAttention>(shape, Streams::kOne));
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
  std::shared_ptr<AdaptiveNorm> norm_;
  Dense proj_mlp_ = nullptr;
  Dense proj_out_ = nullptr;
  std::shared_ptr<JointAttention> attention_;
};

}  // namespace foretell::zoo
