// The diffusion transformer of Stable Diffusion 3 and 3.5 (Esser et al. 2024)
// as SD3Transformer2DModel of diffusers 0.42.1: one step of denoising a batch
// of latent images. Weights have diffusers' names, which adapters choose by.

#include <fmt/core.h>

#include <array>

#include "datasets/zoo/block_list.h"
#include "datasets/zoo/diffusion_blocks.h"
#include "datasets/zoo/families.h"
#include "datasets/zoo/joint_blocks.h"
#include "datasets/zoo/layers.h"

namespace foretell::zoo {
namespace {

constexpr std::int64_t kSd3TimeFeatures = 256;
constexpr std::int64_t kSd3Patch = 2;

struct Sd3Config {
  std::int64_t depth = 24;
  std::int64_t heads = 24;
  std::int64_t head_width = 64;
  bool head_norms = false;  ///< Of queries and keys: SD 3.5.
  /// Of the first blocks, in which the image attends to itself as well.
  std::int64_t dual_depth = 0;
  std::int64_t channels = 16;       ///< Of the latent image.
  std::int64_t image_size = 128;    ///< Its edge: pixels / 8.
  std::int64_t largest_size = 192;  ///< In patches: of the table of positions.
  std::int64_t text_width = 4096;
  std::int64_t seq = 333;  ///< Tokens of the text: 77 of CLIP, 256 of T5.
  std::int64_t pooled_width = 2048;  ///< Of the whole text's embedding.

  FORETELL_FIELDS(depth, heads, head_width, head_norms, dual_depth, channels,
                  image_size, largest_size, text_width, seq, pooled_width)

  JointShape Shape() const {
    JointShape shape = {
        .heads = heads, .head_width = head_width, .text_first = false};
    if (head_norms) shape.head_norm = NormKind::kDiffusers;
    return shape;
  }

  std::vector<InputSpec> Inputs() const {
    return {
        BatchedInput("latent", DType::kF32, {channels, image_size, image_size}),
        BatchedInput("text", DType::kF32, {seq, text_width}),
        BatchedInput("pooled", DType::kF32, {pooled_width}),
        BatchedInput("time", DType::kF32, {})};
  }
  std::shared_ptr<Network> Make() const;
};

/// A patch of the latent image per token, plus its position: PatchEmbed.
class Sd3Patches final : public torch::nn::Module {
 public:
  explicit Sd3Patches(const Sd3Config& config) : side_(config.largest_size) {
    const std::int64_t width = config.Shape().Width();
    proj_ = register_module("proj", Conv({.in = config.channels,
                                          .out = width,
                                          .kernel = kSd3Patch,
                                          .stride = kSd3Patch,
                                          .padding = 0},
                                         /*bias=*/true));
    positions_ =
        register_buffer("pos_embed", at::zeros({1, side_ * side_, width}));
  }

  /// latent: [batch, channels, h, w]; returns [batch, patches, width].
  at::Tensor forward(const at::Tensor& latent) {
    const ModuleScope scope(*this);
    at::Tensor y = proj_->forward(latent);
    const std::int64_t height = y.size(2);
    const std::int64_t width = y.size(3);
    y = y.flatten(2).transpose(1, 2);
    at::Tensor table = positions_.reshape({1, side_, side_, -1});
    table = table.narrow(1, (side_ - height) / 2, height)
                .narrow(2, (side_ - width) / 2, width);
    table = table.reshape({1, -1, table.size(3)});
    return (y + table).to(y.scalar_type());
  }

 private:
  std::int64_t side_;
  torch::nn::Conv2d proj_ = nullptr;
  at::Tensor positions_;
};

/// What the step and the whole text say: CombinedTimestepTextProjEmbeddings.
class Sd3Condition final : public torch::nn::Module {
 public:
  Sd3Condition(std::int64_t width, std::int64_t pooled) {
    time_ = register_module(
        "timestep_embedder",
        std::make_shared<ConditionEmbedding>(kSd3TimeFeatures, width));
    text_ = register_module(
        "text_embedder", std::make_shared<ConditionEmbedding>(pooled, width));
  }

  /// time: [batch], pooled: [batch, pooled width]; returns [batch, width].
  at::Tensor forward(const at::Tensor& time, const at::Tensor& pooled) {
    const ModuleScope scope(*this);
    const at::Tensor features = NumberFeatures(time, kSd3TimeFeatures);
    const at::Tensor y = time_->forward(features.to(pooled.scalar_type()));
    return y + text_->forward(pooled);
  }

 private:
  std::shared_ptr<ConditionEmbedding> time_;
  std::shared_ptr<ConditionEmbedding> text_;
};

class Sd3 final : public Network {
 public:
  explicit Sd3(const Sd3Config& config) : channels_(config.channels) {
    const JointShape shape = config.Shape();
    const std::int64_t width = shape.Width();
    patches_ =
        register_module("pos_embed", std::make_shared<Sd3Patches>(config));
    condition_ = register_module(
        "time_text_embed",
        std::make_shared<Sd3Condition>(width, config.pooled_width));
    text_ =
        register_module("context_embedder", Dense(config.text_width, width));
    blocks_ = AddBlockList(
        *this, "transformer_blocks", config.depth, [&](std::int64_t i) {
          const JointBlockKind kind = {.attends_twice = i < config.dual_depth,
                                       .is_last = i == config.depth - 1};
          return std::make_shared<JointBlock>(shape, kind);
        });
    norm_out_ =
        register_module("norm_out", std::make_shared<AdaptiveNorm>(width, 2));
    proj_out_ = register_module(
        "proj_out", Dense(width, kSd3Patch * kSd3Patch * config.channels));
  }

  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor& latent = inputs.at(0);
    at::Tensor image = patches_->forward(latent).contiguous();
    const at::Tensor condition =
        condition_->forward(inputs.at(3), inputs.at(2));
    at::Tensor text = text_->forward(inputs.at(1));
    for (const auto& block : blocks_) {
      auto both = block->forward(image, text, condition, {});
      image = both[0];
      text = both[1];
    }
    image = norm_out_->forward(image, condition).front();
    image = proj_out_->forward(image);
    return {Joined(image, latent)};
  }

 private:
  /// Patches as a latent image of the shape of `like`.
  at::Tensor Joined(const at::Tensor& patches, const at::Tensor& like) const {
    const std::int64_t height = like.size(2) / kSd3Patch;
    const std::int64_t width = like.size(3) / kSd3Patch;
    const at::Tensor y = patches
                             .reshape({patches.size(0), height, width,
                                       kSd3Patch, kSd3Patch, channels_})
                             .permute({0, 5, 1, 3, 2, 4});
    return y.reshape(like.sizes());
  }

  std::int64_t channels_;
  std::shared_ptr<Sd3Patches> patches_;
  std::shared_ptr<Sd3Condition> condition_;
  Dense text_ = nullptr;
  std::vector<std::shared_ptr<JointBlock>> blocks_;
  std::shared_ptr<AdaptiveNorm> norm_out_;
  Dense proj_out_ = nullptr;
};

std::shared_ptr<Network> Sd3Config::Make() const {
  Require(heads > 0 && head_width > 0,
          fmt::format("heads={}, head_width={}: expected positive numbers",
                      heads, head_width));
  RequireMultiple(image_size, kSd3Patch);
  Require(image_size <= kSd3Patch * largest_size,
          fmt::format("image_size={}: expected at most {}, twice largest_size",
                      image_size, kSd3Patch * largest_size));
  return std::make_shared<Sd3>(*this);
}

// Sizes of the published weights, of which diffusers'
// scripts/convert_sd3_to_diffusers.py reads them.
constexpr std::array<Variant, 3> kSd3Variants = {{
    {"sd3_medium", ""},
    {"sd3_5_medium", "head_norms=true&dual_depth=13&largest_size=384"},
    {"sd3_5_large", "depth=38&heads=38&head_norms=true"},
}};

}  // namespace

const Family kSd3 = {"sd3", kSd3Variants, &Configure<Sd3Config>};

}  // namespace foretell::zoo
