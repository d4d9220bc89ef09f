// The image encoder of Segment Anything (Kirillov et al. 2023) as transformers'
// SamVisionModel: a vision transformer on windows, with a few blocks that see
// the whole image, and with learned positions per row and column between two
// patches. They enter fused attention as its mask; `attention=eager` multiplies
// and adds apart, as the authors' code does.

#include <ATen/TensorIndexing.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

constexpr double kSamEpsilon = 1e-6;

struct SamConfig {
  std::int64_t width = 768;
  std::int64_t depth = 12;
  std::int64_t heads = 12;
  std::vector<std::int64_t> global_blocks = {2, 5, 8, 11};
  std::int64_t window = 14;        ///< Patches a side.
  std::int64_t image_size = 1024;  ///< A multiple of patch_size.
  std::int64_t patch_size = 16;
  std::int64_t channels_out = 256;
  std::string attention = "sdpa";  ///< Or "eager".

  FORETELL_FIELDS(width, depth, heads, global_blocks, window, image_size,
                  patch_size, channels_out, attention)

  std::int64_t Side() const { return image_size / patch_size; }
  std::vector<InputSpec> Inputs() const { return {ImageInput(3, image_size)}; }
  std::shared_ptr<Network> Make() const;
};

/// Attention over a square of `side` × `side` patches.
class SamAttention final : public torch::nn::Module {
 public:
  SamAttention(const SamConfig& config, std::int64_t side)
      : heads_(config.heads), is_fused_(config.attention == "sdpa") {
    const std::int64_t width = config.width / config.heads;
    qkv_ = register_module("qkv", Dense(config.width, 3 * config.width));
    proj_ = register_module("proj", Dense(config.width, config.width));
    rows_ = register_parameter("rel_pos_h", at::zeros({2 * side - 1, width}));
    columns_ =
        register_parameter("rel_pos_w", at::zeros({2 * side - 1, width}));
    const at::Tensor i = at::arange(side, at::kLong);
    distances_ = register_buffer("distances",
                                 i.unsqueeze(1) - i.unsqueeze(0) + (side - 1));
  }

  /// x: [images, side, side, width].
  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    const std::int64_t images = x.size(0);
    const std::int64_t patches = x.size(1) * x.size(2);
    at::Tensor qkv = qkv_->forward(x)
                         .reshape({images, patches, 3, heads_, -1})
                         .permute({2, 0, 3, 1, 4});
    qkv = qkv.reshape({3, images * heads_, patches, -1});
    const std::vector<at::Tensor> parts = qkv.unbind(0);
    at::Tensor y = is_fused_ ? Fused(parts, images) : Eager(parts);
    y = y.view({images, heads_, x.size(1), x.size(2), -1})
            .permute({0, 2, 3, 1, 4})
            .reshape(x.sizes());
    return proj_->forward(y);
  }

 private:
  /// q: [images × heads, patches, head width]; returns [images × heads,
  /// patches, patches].
  at::Tensor PositionScores(const at::Tensor& q) {
    const std::int64_t side = distances_.size(0);
    const at::Tensor rows = rows_.index({distances_});
    const at::Tensor columns = columns_.index({distances_});
    const at::Tensor square = q.reshape({q.size(0), side, side, q.size(2)});
    const at::Tensor by_row = at::einsum("bhwc,hkc->bhwk", {square, rows});
    const at::Tensor by_column =
        at::einsum("bhwc,wkc->bhwk", {square, columns});
    const at::Tensor scores = by_row.unsqueeze(4) + by_column.unsqueeze(3);
    return scores.reshape({q.size(0), q.size(1), q.size(1)});
  }

  at::Tensor Fused(const std::vector<at::Tensor>& parts, std::int64_t images) {
    const auto with_heads = [&](const at::Tensor& x) {
      return x.view({images, heads_, x.size(1), x.size(2)});
    };
    const at::Tensor bias = with_heads(PositionScores(parts[0]));
    return at::scaled_dot_product_attention(
        with_heads(parts[0]), with_heads(parts[1]), with_heads(parts[2]), bias);
  }

  at::Tensor Eager(const std::vector<at::Tensor>& parts) {
    const at::Tensor& q = parts[0];
    at::Tensor scores = q * (1 / std::sqrt(static_cast<double>(q.size(2))));
    scores = at::matmul(scores, parts[1].transpose(1, 2));
    scores = scores + PositionScores(q);
    scores = scores.softmax(-1);
    return at::matmul(scores, parts[2]);
  }

  std::int64_t heads_;
  bool is_fused_;
  Dense qkv_ = nullptr;
  Dense proj_ = nullptr;
  at::Tensor rows_;
  at::Tensor columns_;
  at::Tensor distances_;  ///< Which row of a table: i64[side, side].
};

/// [images, side, side, width] as windows [images × n, window, window, width],
/// the last ones filled with zeros.
at::Tensor CutWindows(const at::Tensor& x, std::int64_t window) {
  const std::int64_t missing = (window - x.size(1) % window) % window;
  const at::Tensor padded = at::pad(x, {0, 0, 0, missing, 0, missing});
  const std::int64_t count = padded.size(1) / window;
  return padded.reshape({x.size(0), count, window, count, window, x.size(3)})
      .permute({0, 1, 3, 2, 4, 5})
      .contiguous()
      .view({-1, window, window, x.size(3)});
}

/// Inverse of CutWindows: [images, side, side, width].
at::Tensor JoinWindows(const at::Tensor& windows, std::int64_t images,
                       std::int64_t side) {
  const std::int64_t window = windows.size(1);
  const std::int64_t count = (side + window - 1) / window;
  const at::Tensor joined =
      windows.reshape({images, count, count, window, window, -1})
          .permute({0, 1, 3, 2, 4, 5})
          .contiguous()
          .view({images, count * window, count * window, -1});
  return joined.narrow(1, 0, side).narrow(2, 0, side).contiguous();
}

struct SamBlock : torch::nn::Module {
  /// A window of 0 is the whole image.
  SamBlock(const SamConfig& config, std::int64_t window) : window_(window) {
    norm1_ = register_module("layer_norm1", Norm(config.width, kSamEpsilon));
    attention_ = register_module(
        "attn", std::make_shared<SamAttention>(
                    config, window == 0 ? config.Side() : window));
    norm2_ = register_module("layer_norm2", Norm(config.width, kSamEpsilon));
    mlp_ = register_module("mlp",
                           FeedForward(config.width, 4 * config.width, "gelu"));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = norm1_->forward(x);
    if (window_ > 0) y = CutWindows(y, window_);
    y = attention_->forward(y);
    if (window_ > 0) y = JoinWindows(y, x.size(0), x.size(1));
    y = at::add(x, y);
    const at::Tensor normed = norm2_->forward(y);
    return at::add(y, mlp_->forward(normed));
  }

 private:
  std::int64_t window_;
  torch::nn::LayerNorm norm1_ = nullptr;
  std::shared_ptr<SamAttention> attention_;
  torch::nn::LayerNorm norm2_ = nullptr;
  Chain mlp_ = nullptr;
};

class SamEncoder final : public UnaryNetwork {
 public:
  explicit SamEncoder(const SamConfig& config) {
    const std::int64_t out = config.channels_out;
    patches_ = register_module("patch_embed", Conv({.in = 3,
                                                    .out = config.width,
                                                    .kernel = config.patch_size,
                                                    .stride = config.patch_size,
                                                    .padding = 0},
                                                   /*bias=*/true));
    positions_ = register_parameter(
        "pos_embed",
        at::zeros({1, config.Side(), config.Side(), config.width}));
    for (std::int64_t i = 0; i < config.depth; ++i) {
      const bool sees_all = std::ranges::find(config.global_blocks, i) !=
                            config.global_blocks.end();
      blocks_->Add(
          std::make_shared<SamBlock>(config, sees_all ? 0 : config.window));
    }
    register_module("layers", blocks_);
    conv1_ = register_module(
        "conv1", Conv({.in = config.width, .out = out}, /*bias=*/false));
    norm1_ = register_module("layer_norm1", Norm(out, kSamEpsilon));
    conv2_ = register_module(
        "conv2", Conv({.in = out, .out = out, .kernel = 3}, /*bias=*/false));
    norm2_ = register_module("layer_norm2", Norm(out, kSamEpsilon));
  }

  /// x: f32[batch, 3, size, size]; returns [batch, channels_out, side, side].
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = patches_->forward(x);
    y = y.permute({0, 2, 3, 1});
    y = y + positions_;
    y = blocks_->forward(y);
    y = y.permute({0, 3, 1, 2});
    y = conv1_->forward(y);
    y = OverChannels(norm1_, y);
    y = conv2_->forward(y);
    return OverChannels(norm2_, y);
  }

 private:
  static at::Tensor OverChannels(torch::nn::LayerNorm& norm,
                                 const at::Tensor& x) {
    const at::Tensor y = norm->forward(x.permute({0, 2, 3, 1}));
    return y.permute({0, 3, 1, 2});
  }

  torch::nn::Conv2d patches_ = nullptr;
  at::Tensor positions_;
  Chain blocks_;
  torch::nn::Conv2d conv1_ = nullptr;
  torch::nn::LayerNorm norm1_ = nullptr;
  torch::nn::Conv2d conv2_ = nullptr;
  torch::nn::LayerNorm norm2_ = nullptr;
};

std::shared_ptr<Network> SamConfig::Make() const {
  RequireHeads(width, heads);
  RequireMultiple(image_size, patch_size);
  Require(window > 0, "window must be positive");
  Require(attention == "sdpa" || attention == "eager",
          fmt::format("attention={}: expected sdpa or eager", attention));
  return std::make_shared<SamEncoder>(*this);
}

constexpr std::array<Variant, 3> kSamVariants = {{
    {"sam_vit_b", ""},
    {"sam_vit_l", "width=1024&depth=24&heads=16&global_blocks=5,11,17,23"},
    {"sam_vit_h", "width=1280&depth=32&heads=16&global_blocks=7,15,23,31"},
}};

}  // namespace

const Family kSam = {"sam", kSamVariants, &Configure<SamConfig>};

}  // namespace foretell::zoo
