// PoolFormer (Yu et al. 2021) with timm's choices: transformer blocks on images
// with average pooling instead of attention.

#include <fmt/core.h>
#include <torch/nn/modules/pooling.h>

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/transformer_layers.h"
#include "src/core/numbers.h"

namespace foretell::zoo {
namespace {

constexpr std::int64_t kPoolFormerMlpRatio = 4;
constexpr double kLayerScale = 1e-5;
constexpr double kHeadEpsilon = 1e-6;

struct PoolFormerConfig : ImageClassifier {
  std::vector<std::int64_t> layers = {2, 2, 6, 2};  ///< Blocks per stage.
  std::vector<std::int64_t> widths = {64, 128, 320, 512};  ///< Per stage.
  std::int64_t pool_size = 3;                              ///< Odd.

  FORETELL_FIELDS(layers, widths, pool_size, image_size, channels, classes)

  std::shared_ptr<Network> Make() const;
};

/// The mean of the neighbourhood less the pixel itself: the residual sum adds
/// the pixel again.
struct Pooling : torch::nn::Module {
  explicit Pooling(std::int64_t size)
      : pool_(register_module(
            "pool", torch::nn::AvgPool2d(torch::nn::AvgPool2dOptions(size)
                                             .stride(1)
                                             .padding(size / 2)
                                             .count_include_pad(false)))) {}

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    const at::Tensor y = pool_->forward(x);
    return y - x;
  }

 private:
  torch::nn::AvgPool2d pool_;
};

/// A trainable factor per channel.
struct LayerScale : torch::nn::Module {
  explicit LayerScale(std::int64_t width)
      : scale_(
            register_parameter("scale", at::ones({width}).mul_(kLayerScale))) {}

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    return x * scale_.view({-1, 1, 1});
  }

 private:
  at::Tensor scale_;
};

torch::nn::GroupNorm OneGroup(std::int64_t width) {
  return torch::nn::GroupNorm(torch::nn::GroupNormOptions(1, width));
}

struct PoolFormerBlock : torch::nn::Module {
  PoolFormerBlock(std::int64_t width, std::int64_t pool_size) {
    mixer_->Add("norm", OneGroup(width));
    mixer_->Add("pooling", std::make_shared<Pooling>(pool_size));
    mixer_->Add("scale", std::make_shared<LayerScale>(width));
    register_module("mixer", mixer_);
    mlp_->Add("norm", OneGroup(width));
    Chain mlp;
    mlp->Add(
        Conv({.in = width, .out = kPoolFormerMlpRatio * width}, /*bias=*/true));
    AddActivation(mlp, "gelu");
    mlp->Add(
        Conv({.in = kPoolFormerMlpRatio * width, .out = width}, /*bias=*/true));
    mlp_->Add("mlp", mlp);
    mlp_->Add("scale", std::make_shared<LayerScale>(width));
    register_module("mlp", mlp_);
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = at::add(x, mixer_->forward(x));
    y = at::add(y, mlp_->forward(y));
    return y;
  }

 private:
  Chain mixer_;
  Chain mlp_;
};

class PoolFormer final : public UnaryNetwork {
 public:
  explicit PoolFormer(const PoolFormerConfig& config) {
    std::int64_t in = config.widths.front();
    features_->Add("stem", Conv({.in = config.channels,
                                 .out = in,
                                 .kernel = 7,
                                 .stride = 4,
                                 .padding = 2},
                                /*bias=*/true));
    for (std::size_t stage = 0; stage < config.layers.size(); ++stage) {
      const std::int64_t width = config.widths[stage];
      if (width != in) {
        features_->Add(Conv({.in = in, .out = width, .kernel = 3, .stride = 2},
                            /*bias=*/true));
      }
      for (std::int64_t i = 0; i < config.layers[stage]; ++i) {
        features_->Add(
            std::make_shared<PoolFormerBlock>(width, config.pool_size));
      }
      in = width;
    }
    register_module("features", features_);
    norm_ = register_module("norm", Norm(in, kHeadEpsilon));
    head_ = register_module("head", Dense(in, config.classes));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = features_->forward(x);
    y = at::adaptive_avg_pool2d(y, {1, 1});
    y = y.permute({0, 2, 3, 1});
    y = norm_->forward(y);
    y = y.permute({0, 3, 1, 2});
    y = y.flatten(1);
    return head_->forward(y);
  }

 private:
  Chain features_;
  torch::nn::LayerNorm norm_ = nullptr;
  Dense head_ = nullptr;
};

std::shared_ptr<Network> PoolFormerConfig::Make() const {
  Require(!layers.empty() && layers.size() == widths.size(),
          fmt::format("layers has {}, widths has {}",
                      Counted(layers.size(), "stage"), widths.size()));
  Require(pool_size % 2 == 1,
          fmt::format("pool_size={}: expected an odd size", pool_size));
  return std::make_shared<PoolFormer>(*this);
}

constexpr std::array<Variant, 5> kPoolFormerVariants = {{
    {"poolformer_s12", ""},
    {"poolformer_s24", "layers=4,4,12,4"},
    {"poolformer_s36", "layers=6,6,18,6"},
    {"poolformer_m36", "layers=6,6,18,6&widths=96,192,384,768"},
    {"poolformer_m48", "layers=8,8,24,8&widths=96,192,384,768"},
}};

}  // namespace

const Family kPoolFormer = {"poolformer", kPoolFormerVariants,
                            &Configure<PoolFormerConfig>};

}  // namespace foretell::zoo
