// ConvNeXt (Liu et al. 2022) as torchvision builds it: 7×7 depthwise
// convolutions, layer norm and dense layers over channels. Norm and dense
// layers see the image with channels last, a permuted view, so that the first
// dense layer's kernel works on a copy.

#include <ATen/ops/ones.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/pooling.h>

#include <array>
#include <numeric>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/stochastic_depth.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {
namespace {

constexpr double kConvnextNormEpsilon = 1e-6;
constexpr std::int64_t kConvNextMlpRatio = 4;
constexpr std::int64_t kPatch = 4;

struct ConvNextConfig : ImageClassifier {
  std::vector<std::int64_t> layers = {3, 3, 9, 3};  ///< Blocks per stage.
  std::int64_t width = 96;  ///< Channels of the first stage, doubled per stage.
  double stochastic_depth = 0.1;  ///< Rate of the last block.
  double layer_scale = 1e-6;      ///< Initial scale of a block's branch.

  FORETELL_FIELDS(layers, width, stochastic_depth, layer_scale, image_size,
                  channels, classes)

  std::shared_ptr<Network> Make() const;
};

struct Permute : torch::nn::Module {
  explicit Permute(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}
  at::Tensor forward(const at::Tensor& x) { return x.permute(dims_); }
  std::vector<std::int64_t> dims_;
};

torch::nn::LayerNorm ChannelNorm(std::int64_t channels) {
  return torch::nn::LayerNorm(
      torch::nn::LayerNormOptions({channels}).eps(kConvnextNormEpsilon));
}

/// Layer norm over the channels of [batch, channels, height, width].
struct LayerNorm2d : torch::nn::Module {
  explicit LayerNorm2d(std::int64_t channels) : norm_(ChannelNorm(channels)) {
    register_module("norm", norm_);
  }
  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = x.permute({0, 2, 3, 1});
    y = norm_->forward(y);
    return y.permute({0, 3, 1, 2});
  }
  torch::nn::LayerNorm norm_;
};

class ConvNextBlock : public torch::nn::Module {
 public:
  ConvNextBlock(std::int64_t width, double layer_scale,
                double stochastic_depth) {
    branch_->Add(
        Conv({.in = width, .out = width, .kernel = 7, .groups = width}, true));
    branch_->Add(
        std::make_shared<Permute>(std::vector<std::int64_t>{0, 2, 3, 1}));
    branch_->Add(ChannelNorm(width));
    branch_->Add(Dense(width, kConvNextMlpRatio * width));
    AddActivation(branch_, "gelu");
    branch_->Add(Dense(kConvNextMlpRatio * width, width));
    branch_->Add(
        std::make_shared<Permute>(std::vector<std::int64_t>{0, 3, 1, 2}));
    register_module("branch", branch_);
    layer_scale_ = register_parameter("layer_scale",
                                      torch::ones({width, 1, 1}) * layer_scale);
    stochastic_depth_ =
        register_module("stochastic_depth",
                        std::make_shared<StochasticDepth>(stochastic_depth));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = layer_scale_ * branch_->forward(x);
    y = stochastic_depth_->forward(y);
    y += x;
    return y;
  }

 private:
  Chain branch_;
  at::Tensor layer_scale_;
  std::shared_ptr<StochasticDepth> stochastic_depth_;
};

Chain Stem(std::int64_t in, std::int64_t out) {
  Chain chain;
  chain->Add(Conv(
      {.in = in, .out = out, .kernel = kPatch, .stride = kPatch, .padding = 0},
      true));
  chain->Add(std::make_shared<LayerNorm2d>(out));
  return chain;
}

Chain Downsample(std::int64_t width) {
  Chain chain;
  chain->Add(std::make_shared<LayerNorm2d>(width));
  chain->Add(Conv(
      {.in = width, .out = 2 * width, .kernel = 2, .stride = 2, .padding = 0},
      true));
  return chain;
}

class ConvNext final : public UnaryNetwork {
 public:
  explicit ConvNext(const ConvNextConfig& config) {
    const auto blocks = static_cast<double>(std::accumulate(
        config.layers.begin(), config.layers.end(), std::int64_t{0}));
    const double slope =
        blocks > 1 ? config.stochastic_depth / (blocks - 1) : 0;
    std::int64_t width = config.width;
    double position = 0;
    features_->Add(Stem(config.channels, width));
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
      Chain stage;
      for (std::int64_t block = 0; block < config.layers[i]; ++block) {
        stage->Add(std::make_shared<ConvNextBlock>(width, config.layer_scale,
                                                   slope * position++));
      }
      features_->Add(stage);
      if (i + 1 == config.layers.size()) break;
      features_->Add(Downsample(width));
      width *= 2;
    }
    register_module("features", features_);
    pool_ = register_module("pool", torch::nn::AdaptiveAvgPool2d(1));
    norm_ = register_module("norm", std::make_shared<LayerNorm2d>(width));
    classifier_ =
        register_module("classifier", torch::nn::Linear(width, config.classes));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = features_->forward(x);
    const at::Tensor pooled = pool_->forward(y);
    y = norm_->forward(pooled);
    y = at::flatten(y, 1);
    return classifier_->forward(y);
  }

 private:
  Chain features_;
  torch::nn::AdaptiveAvgPool2d pool_ = nullptr;
  std::shared_ptr<LayerNorm2d> norm_;
  torch::nn::Linear classifier_ = nullptr;
};

std::shared_ptr<Network> ConvNextConfig::Make() const {
  Require(!layers.empty() && layers.size() < 16,
          "layers: expected 1 to 15 numbers");
  return std::make_shared<ConvNext>(*this);
}

constexpr std::array<Variant, 4> kConvNextVariants = {{
    {"convnext_tiny", ""},
    {"convnext_small", "layers=3,3,27,3&stochastic_depth=0.4"},
    {"convnext_base", "layers=3,3,27,3&width=128&stochastic_depth=0.5"},
    {"convnext_large", "layers=3,3,27,3&width=192&stochastic_depth=0.5"},
}};

}  // namespace

const Family kConvNext = {"convnext", kConvNextVariants,
                          &Configure<ConvNextConfig>};

}  // namespace foretell::zoo
