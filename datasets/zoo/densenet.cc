// DenseNet-BC (Huang et al. 2017) as torchvision builds it. Every layer reads
// the concatenation of all earlier results of its block, which is built again
// each time: this makes the family's memory unlike that of others.

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <fmt/core.h>
#include <torch/nn/modules/pooling.h>

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

struct DenseNetConfig : ImageClassifier {
  std::vector<std::int64_t> layers = {6, 12, 24, 16};  ///< Per block.
  std::int64_t growth_rate = 32;  ///< Channels that a layer adds.
  std::int64_t width = 64;        ///< Channels after the stem.
  std::int64_t bottleneck = 4;    ///< Inner channels per growth rate.
  double dropout = 0;

  FORETELL_FIELDS(layers, growth_rate, width, bottleneck, dropout, image_size,
                  channels, classes)

  std::shared_ptr<Network> Make() const;
};

/// Norm, ReLU, 1×1 convolution; norm, ReLU, 3×3 convolution.
class DenseLayer : public torch::nn::Module {
 public:
  DenseLayer(const DenseNetConfig& config, std::int64_t in)
      : dropout_(config.dropout) {
    const std::int64_t inner = config.bottleneck * config.growth_rate;
    AddHalf(reduce_, {.in = in, .out = inner});
    AddHalf(extract_, {.in = inner, .out = config.growth_rate, .kernel = 3});
    register_module("reduce", reduce_);
    register_module("extract", extract_);
  }

  /// features: results so far, [batch, …, height, width] each.
  at::Tensor Forward(const std::vector<at::Tensor>& features) {
    const at::Tensor reduced = Reduce(features);
    at::Tensor y = extract_->forward(reduced);
    if (dropout_ > 0) y = at::dropout(y, dropout_, is_training());
    return y;
  }

 private:
  static void AddHalf(Chain& chain, const ConvShape& shape) {
    chain->Add(torch::nn::BatchNorm2d(shape.in));
    AddActivation(chain, "relu");
    chain->Add(Conv(shape, /*bias=*/false));
  }

  at::Tensor Reduce(const std::vector<at::Tensor>& features) {
    const at::Tensor joined = at::cat(features, 1);
    return reduce_->forward(joined);
  }

  double dropout_;
  Chain reduce_;
  Chain extract_;
};

class DenseBlock : public torch::nn::Module {
 public:
  DenseBlock(const DenseNetConfig& config, std::int64_t in,
             std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      layers_.push_back(register_module(
          fmt::format("{}", i),
          std::make_shared<DenseLayer>(config, in + i * config.growth_rate)));
    }
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    std::vector<at::Tensor> features = {x};
    for (const std::shared_ptr<DenseLayer>& layer : layers_) {
      features.push_back(layer->Forward(features));
    }
    return at::cat(features, 1);
  }

 private:
  std::vector<std::shared_ptr<DenseLayer>> layers_;
};

/// Halves channels and size.
Chain Transition(std::int64_t in) {
  Chain chain;
  chain->Add(torch::nn::BatchNorm2d(in));
  AddActivation(chain, "relu");
  chain->Add(Conv({.in = in, .out = in / 2}, /*bias=*/false));
  chain->Add(torch::nn::AvgPool2d(torch::nn::AvgPool2dOptions(2).stride(2)));
  return chain;
}

class DenseNet final : public UnaryNetwork {
 public:
  explicit DenseNet(const DenseNetConfig& config) {
    AddConvNorm(
        features_,
        {.in = config.channels, .out = config.width, .kernel = 7, .stride = 2},
        "relu");
    features_->Add(torch::nn::MaxPool2d(
        torch::nn::MaxPool2dOptions(3).stride(2).padding(1)));
    std::int64_t width = config.width;
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
      features_->Add(
          std::make_shared<DenseBlock>(config, width, config.layers[i]));
      width += config.layers[i] * config.growth_rate;
      if (i + 1 == config.layers.size()) break;
      features_->Add(Transition(width));
      width /= 2;
    }
    features_->Add(torch::nn::BatchNorm2d(width));
    register_module("features", features_);
    classifier_ =
        register_module("classifier", torch::nn::Linear(width, config.classes));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor features = features_->forward(x);
    at::Tensor y = at::relu_(features);
    y = at::adaptive_avg_pool2d(y, {1, 1});
    y = at::flatten(y, 1);
    return classifier_->forward(y);
  }

 private:
  Chain features_;
  torch::nn::Linear classifier_ = nullptr;
};

std::shared_ptr<Network> DenseNetConfig::Make() const {
  Require(!layers.empty(), "layers: expected one number per block");
  return std::make_shared<DenseNet>(*this);
}

constexpr std::array<Variant, 4> kDenseNetVariants = {{
    {"densenet121", "layers=6,12,24,16"},
    {"densenet161", "layers=6,12,36,24&growth_rate=48&width=96"},
    {"densenet169", "layers=6,12,32,32"},
    {"densenet201", "layers=6,12,48,32"},
}};

}  // namespace

const Family kDenseNet = {"densenet", kDenseNetVariants,
                          &Configure<DenseNetConfig>};

}  // namespace foretell::zoo
