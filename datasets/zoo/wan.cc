// The diffusion transformer of Wan 2.1 (2025) as WanTransformer3DModel of
// diffusers 0.42.1: one step of denoising a batch of latent videos that a text
// describes. Weights have diffusers' names, which adapters choose by. Norms and
// sums of blocks are in 32 bits, whatever the type of the weights is.

#include <fmt/core.h>
#include <torch/nn/modules/conv.h>

#include <array>

#include "datasets/zoo/block_list.h"
#include "datasets/zoo/diffusion_blocks.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/wan_blocks.h"

namespace foretell::zoo {
namespace {

constexpr std::int64_t kWanTimeFeatures = 256;
constexpr std::int64_t kWanPatch = 2;  ///< Edge; one frame deep.
constexpr std::int64_t kWanAxes = 3;
/// Frames, rows and columns of patches that the tables of positions have.
constexpr std::int64_t kWanPositions = 1024;

struct WanConfig {
  std::int64_t depth = 30;
  std::int64_t heads = 12;
  std::int64_t head_width = 128;
  std::int64_t inner = 8960;   ///< Of the feed-forward part.
  std::int64_t channels = 16;  ///< Of the latent video.
  std::int64_t frames = 21;    ///< Its frames: (those of the video + 3) / 4.
  std::int64_t height = 60;    ///< Its rows: pixels / 8.
  std::int64_t width = 104;
  std::int64_t text_width = 4096;
  std::int64_t seq = 512;  ///< Tokens of the text.

  FORETELL_FIELDS(depth, heads, head_width, inner, channels, frames, height,
                  width, text_width, seq)

  WanShape Shape() const {
    return {.width = heads * head_width, .heads = heads, .inner = inner};
  }

  std::vector<InputSpec> Inputs() const {
    return {
        BatchedInput("latent", DType::kF32, {channels, frames, height, width}),
        BatchedInput("text", DType::kF32, {seq, text_width}),
        BatchedInput("time", DType::kF32, {})};
  }
  std::shared_ptr<Network> Make() const;
};

/// Cosines and sines of positions in frames, rows and columns, which share a
/// head's numbers: WanRotaryPosEmbed.
class WanPositions final : public torch::nn::Module {
 public:
  explicit WanPositions(std::int64_t head_width) {
    const std::int64_t side = 2 * (head_width / (2 * kWanAxes));
    widths_ = {head_width - 2 * side, side, side};
    cosine_ = register_buffer("freqs_cos", Table(head_width));
    sine_ = register_buffer("freqs_sin", Table(head_width));
  }

  /// sizes: patches of a video along each axis. Returns [1, patches, 1, head
  /// width] each.
  RotaryTables forward(const std::array<std::int64_t, kWanAxes>& sizes) {
    const ModuleScope scope(*this);
    return {Spread(cosine_, sizes), Spread(sine_, sizes)};
  }

 private:
  /// Without the values, which change no operator.
  static at::Tensor Table(std::int64_t head_width) {
    return at::ones({kWanPositions, head_width});
  }

  at::Tensor Spread(const at::Tensor& table,
                    const std::array<std::int64_t, kWanAxes>& sizes) const {
    std::vector<at::Tensor> parts = table.split_with_sizes(widths_, 1);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      std::vector<std::int64_t> shape(kWanAxes + 1, 1);
      shape[axis] = sizes[axis];
      shape.back() = widths_[axis];
      parts[axis] = parts[axis]
                        .narrow(0, 0, sizes[axis])
                        .view(shape)
                        .expand({sizes[0], sizes[1], sizes[2], widths_[axis]});
    }
    const at::Tensor all = at::cat(parts, -1);
    return all.reshape({1, -1, 1, all.size(-1)});
  }

  std::vector<std::int64_t> widths_;
  at::Tensor cosine_;
  at::Tensor sine_;
};

/// What the step and the text say: WanTimeTextImageEmbedding.
class WanCondition final : public torch::nn::Module {
 public:
  struct Result {
    at::Tensor time;   ///< [batch, width].
    at::Tensor parts;  ///< [batch, 6, width], for every block.
    at::Tensor text;   ///< [batch, tokens, width].
  };

  WanCondition(std::int64_t width, std::int64_t text_width) {
    time_ = register_module(
        "time_embedder",
        std::make_shared<ConditionEmbedding>(kWanTimeFeatures, width));
    parts_ = register_module("time_proj", Dense(width, kWanBlockParts * width));
    text_ = register_module(
        "text_embedder",
        std::make_shared<ConditionEmbedding>(text_width, width, "gelu_tanh"));
  }

  Result forward(const at::Tensor& time, const at::Tensor& text) {
    const ModuleScope scope(*this);
    const at::Tensor features = NumberFeatures(time, kWanTimeFeatures);
    const at::Tensor y = time_->forward(features.to(text.scalar_type()));
    const at::Tensor parts = parts_->forward(at::silu(y));
    return {y, parts.view({parts.size(0), kWanBlockParts, -1}),
            text_->forward(text)};
  }

 private:
  std::shared_ptr<ConditionEmbedding> time_;
  Dense parts_ = nullptr;
  std::shared_ptr<ConditionEmbedding> text_;
};

class Wan final : public Network {
 public:
  explicit Wan(const WanConfig& config) {
    const WanShape shape = config.Shape();
    positions_ = register_module(
        "rope", std::make_shared<WanPositions>(config.head_width));
    patches_ = register_module(
        "patch_embedding",
        torch::nn::Conv3d(torch::nn::Conv3dOptions(config.channels, shape.width,
                                                   {1, kWanPatch, kWanPatch})
                              .stride({1, kWanPatch, kWanPatch})));
    condition_ = register_module(
        "condition_embedder",
        std::make_shared<WanCondition>(shape.width, config.text_width));
    blocks_ = AddBlockList(*this, "blocks", config.depth, [&](std::int64_t) {
      return std::make_shared<WanBlock>(shape);
    });
    proj_out_ = register_module(
        "proj_out",
        Dense(shape.width, kWanPatch * kWanPatch * config.channels));
    table_ =
        register_parameter("scale_shift_table", at::ones({1, 2, shape.width}));
  }

  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor& latent = inputs.at(0);
    const RotaryTables tables =
        positions_->forward({latent.size(2), latent.size(3) / kWanPatch,
                             latent.size(4) / kWanPatch});
    at::Tensor video = patches_->forward(latent);
    video = video.flatten(2).transpose(1, 2).contiguous();
    const auto condition = condition_->forward(inputs.at(2), inputs.at(1));
    for (const auto& block : blocks_) {
      video = block->forward(video, condition.text, condition.parts, tables);
    }
    const auto parts = (table_ + condition.time.unsqueeze(1)).chunk(2, 1);
    video = WideNorm(video, parts[0], parts[1]);
    video = proj_out_->forward(video);
    return {Joined(video, latent)};
  }

 private:
  /// Patches as a latent video of the shape of `like`.
  static at::Tensor Joined(const at::Tensor& patches, const at::Tensor& like) {
    const at::Tensor y =
        patches
            .reshape({like.size(0), like.size(2), like.size(3) / kWanPatch,
                      like.size(4) / kWanPatch, 1, kWanPatch, kWanPatch, -1})
            .permute({0, 7, 1, 4, 2, 5, 3, 6});
    return y.flatten(6, 7).flatten(4, 5).flatten(2, 3);
  }

  std::shared_ptr<WanPositions> positions_;
  torch::nn::Conv3d patches_ = nullptr;
  std::shared_ptr<WanCondition> condition_;
  std::vector<std::shared_ptr<WanBlock>> blocks_;
  Dense proj_out_ = nullptr;
  at::Tensor table_;
};

std::shared_ptr<Network> WanConfig::Make() const {
  RequireEvenHeads(heads, head_width);
  for (const std::int64_t edge : {height, width}) {
    RequireMultiple(edge, kWanPatch);
    Require(edge <= kWanPatch * kWanPositions,
            fmt::format("height={}, width={}: expected at most {}", height,
                        width, kWanPatch * kWanPositions));
  }
  Require(frames > 0 && frames <= kWanPositions,
          fmt::format("frames={}: expected 1 to {}", frames, kWanPositions));
  return std::make_shared<Wan>(*this);
}

// Sizes of diffusers' scripts/convert_wan_to_diffusers.py.
constexpr std::array<Variant, 2> kWanVariants = {{
    {"wan2_1_1_3b", ""},
    {"wan2_1_14b", "depth=40&heads=40&inner=13824"},
}};

}  // namespace

const Family kWan = {"wan", kWanVariants, &Configure<WanConfig>};

}  // namespace foretell::zoo
