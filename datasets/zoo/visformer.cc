// Visformer (Chen et al. 2021) with timm's choices: a first stage of grouped
// convolutions, then two of attention, all on images and with batch norms.

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/transformer_layers.h"
#include "src/core/numbers.h"

namespace foretell::zoo {
namespace {

/// Pixels of the image per pixel of the last stage, a side.
constexpr std::int64_t kReduction = 32;
constexpr std::size_t kVisformerStages = 3;
/// Sides of the patches that open the stages, after a stem of stride 2.
constexpr std::array<std::int64_t, kVisformerStages> kPatchSides = {4, 2, 2};

/// image_size is a multiple of 32.
struct VisformerConfig : ImageClassifier {
  std::vector<std::int64_t> layers = {7, 4, 4};  ///< Blocks per stage.
  std::int64_t stem_width = 32;
  /// Channels of stage 2; half before it, twice after it.
  std::int64_t width = 384;
  std::int64_t heads = 6;
  std::int64_t mlp_ratio = 4;  ///< Ratio in the stages with attention.
  std::int64_t groups = 8;  ///< Groups of the first stage's 3×3 convolutions.

  FORETELL_FIELDS(layers, stem_width, width, heads, mlp_ratio, groups,
                  image_size, channels, classes)

  std::shared_ptr<Network> Make() const;
};

/// Attention over all pixels, with 1×1 convolutions and no fused kernel.
class ImageAttention final : public torch::nn::Module {
 public:
  ImageAttention(std::int64_t width, std::int64_t heads)
      : heads_(heads),
        scale_(1 / std::sqrt(static_cast<double>(width / heads))) {
    qkv_ = register_module("qkv", Conv({.in = width, .out = 3 * width},
                                       /*bias=*/false));
    proj_ = register_module("proj", Conv({.in = width, .out = width},
                                         /*bias=*/false));
  }

  /// x: [batch, width, height, width].
  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = qkv_->forward(x);
    y = y.reshape({x.size(0), 3, heads_, x.size(1) / heads_, -1})
            .permute({1, 0, 2, 4, 3});
    const std::vector<at::Tensor> parts = y.unbind(0);
    at::Tensor weights = at::matmul(parts[0], parts[1].transpose(-2, -1));
    weights = weights * scale_;
    weights = weights.softmax(-1);
    y = at::matmul(weights, parts[2]);
    y = y.permute({0, 1, 3, 2}).reshape(x.sizes());
    return proj_->forward(y);
  }

 private:
  std::int64_t heads_;
  double scale_;
  torch::nn::Conv2d qkv_ = nullptr;
  torch::nn::Conv2d proj_ = nullptr;
};

/// 1×1 convolutions, around a grouped 3×3 one where `groups` is not 0.
Chain ImageMlp(std::int64_t width, std::int64_t inner, std::int64_t groups) {
  Chain mlp;
  mlp->Add(Conv({.in = width, .out = inner}, /*bias=*/false));
  AddActivation(mlp, "gelu");
  if (groups > 0) {
    mlp->Add(Conv({.in = inner, .out = inner, .kernel = 3, .groups = groups},
                  /*bias=*/false));
    AddActivation(mlp, "gelu");
  }
  mlp->Add(Conv({.in = inner, .out = width}, /*bias=*/false));
  return mlp;
}

struct VisformerBlock : torch::nn::Module {
  VisformerBlock(const VisformerConfig& config, std::int64_t width,
                 bool attends) {
    if (attends) {
      attention_->Add("norm", torch::nn::BatchNorm2d(width));
      attention_->Add("attn",
                      std::make_shared<ImageAttention>(width, config.heads));
      register_module("attention", attention_);
    }
    mlp_->Add("norm", torch::nn::BatchNorm2d(width));
    mlp_->Add("mlp", attends ? ImageMlp(width, config.mlp_ratio * width, 0)
                             : ImageMlp(width, 2 * width, config.groups));
    register_module("mlp", mlp_);
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = x;
    if (!attention_->is_empty()) y = at::add(y, attention_->forward(y));
    y = at::add(y, mlp_->forward(y));
    return y;
  }

 private:
  Chain attention_;
  Chain mlp_;
};

/// Patches with positions, then blocks.
struct VisformerStage : torch::nn::Module {
  VisformerStage(const VisformerConfig& config, std::size_t stage,
                 std::int64_t in, std::int64_t side) {
    const std::int64_t width = config.width / 2 << stage;
    patches_->Add(Conv({.in = in,
                        .out = width,
                        .kernel = kPatchSides[stage],
                        .stride = kPatchSides[stage],
                        .padding = 0},
                       /*bias=*/true));
    patches_->Add(torch::nn::BatchNorm2d(width));
    register_module("patch_embed", patches_);
    position_ =
        register_parameter("pos_embed", at::zeros({1, width, side, side}));
    for (std::int64_t i = 0; i < config.layers[stage]; ++i) {
      blocks_->Add(std::make_shared<VisformerBlock>(config, width, stage > 0));
    }
    register_module("blocks", blocks_);
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = patches_->forward(x);
    y = at::add(y, position_);
    return blocks_->forward(y);
  }

 private:
  Chain patches_;
  at::Tensor position_;
  Chain blocks_;
};

class Visformer final : public UnaryNetwork {
 public:
  explicit Visformer(const VisformerConfig& config) {
    AddConvNorm(features_,
                {.in = config.channels,
                 .out = config.stem_width,
                 .kernel = 7,
                 .stride = 2},
                "relu");
    std::int64_t in = config.stem_width;
    std::int64_t side = config.image_size / 2;
    for (std::size_t stage = 0; stage < kVisformerStages; ++stage) {
      side /= kPatchSides[stage];
      features_->Add(std::make_shared<VisformerStage>(config, stage, in, side));
      in = config.width / 2 << stage;
    }
    features_->Add(torch::nn::BatchNorm2d(in));
    register_module("features", features_);
    head_ = register_module("head", Dense(in, config.classes));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = features_->forward(x);
    y = at::adaptive_avg_pool2d(y, {1, 1});
    y = y.flatten(1);
    return head_->forward(y);
  }

 private:
  Chain features_;
  Dense head_ = nullptr;
};

std::shared_ptr<Network> VisformerConfig::Make() const {
  Require(layers.size() == kVisformerStages,
          fmt::format("layers has {}, expected 3",
                      Counted(layers.size(), "stage")));
  RequireHeads(width, 2);
  RequireHeads(width, heads);
  RequireMultiple(image_size, kReduction);
  return std::make_shared<Visformer>(*this);
}

constexpr std::array<Variant, 2> kVisformerVariants = {{
    {"visformer_tiny", "stem_width=16&width=192&heads=3"},
    {"visformer_small", ""},
}};

}  // namespace

const Family kVisformer = {"visformer", kVisformerVariants,
                           &Configure<VisformerConfig>};

}  // namespace foretell::zoo
