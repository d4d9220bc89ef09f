// VGG (Simonyan and Zisserman 2014) as torchvision builds it: stages of 3×3
// convolutions with bias, each halved by pooling, then three dense layers on a
// 7×7 image for any input size. Nine tenths of the weights are dense.

#include <fmt/core.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/pooling.h>

#include <algorithm>
#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "src/core/numbers.h"

namespace foretell::zoo {
namespace {

constexpr std::int64_t kPooledSize = 7;

struct VggConfig : ImageClassifier {
  std::vector<std::int64_t> layers = {1, 1, 2, 2, 2};  ///< Per stage.
  bool batch_norm = false;
  /// Channels of the first stage, doubled up to eightfold.
  std::int64_t width = 64;
  std::int64_t hidden = 4096;
  double dropout = 0.5;

  FORETELL_FIELDS(layers, batch_norm, width, hidden, dropout, image_size,
                  channels, classes)

  std::shared_ptr<Network> Make() const;
};

class Vgg final : public UnaryNetwork {
 public:
  explicit Vgg(const VggConfig& config) {
    const std::int64_t out = AddFeatures(config);
    register_module("features", features_);
    pool_ = register_module(
        "pool",
        torch::nn::AdaptiveAvgPool2d(
            torch::nn::AdaptiveAvgPool2dOptions({kPooledSize, kPooledSize})));
    AddDense(out * kPooledSize * kPooledSize, config.hidden, config.dropout);
    AddDense(config.hidden, config.hidden, config.dropout);
    classifier_->Add(torch::nn::Linear(config.hidden, config.classes));
    register_module("classifier", classifier_);
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = features_->forward(x);
    y = pool_->forward(y);
    y = at::flatten(y, 1);
    return classifier_->forward(y);
  }

 private:
  /// Returns the channels of the last stage.
  std::int64_t AddFeatures(const VggConfig& config) {
    std::int64_t in = config.channels;
    std::int64_t out = config.width;
    for (const std::int64_t count : config.layers) {
      for (std::int64_t i = 0; i < count; ++i) {
        features_->Add(Conv({.in = in, .out = out, .kernel = 3}, true));
        if (config.batch_norm) features_->Add(torch::nn::BatchNorm2d(out));
        AddActivation(features_, "relu");
        in = out;
      }
      features_->Add(
          torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(2).stride(2)));
      out = std::min(2 * out, 8 * config.width);
    }
    return in;
  }

  void AddDense(std::int64_t in, std::int64_t out, double dropout) {
    classifier_->Add(torch::nn::Linear(in, out));
    AddActivation(classifier_, "relu");
    classifier_->Add(torch::nn::Dropout(dropout));
  }

  Chain features_;
  torch::nn::AdaptiveAvgPool2d pool_ = nullptr;
  Chain classifier_;
};

std::shared_ptr<Network> VggConfig::Make() const {
  const std::size_t halvings = layers.size();
  Require(halvings < 20 && image_size >> halvings > 0,
          fmt::format("image_size={}: too small for {}", image_size,
                      Counted(halvings, "stage")));
  return std::make_shared<Vgg>(*this);
}

constexpr std::array<Variant, 8> kVggVariants = {{
    {"vgg11", "layers=1,1,2,2,2"},
    {"vgg13", "layers=2,2,2,2,2"},
    {"vgg16", "layers=2,2,3,3,3"},
    {"vgg19", "layers=2,2,4,4,4"},
    {"vgg11_bn", "layers=1,1,2,2,2&batch_norm=true"},
    {"vgg13_bn", "layers=2,2,2,2,2&batch_norm=true"},
    {"vgg16_bn", "layers=2,2,3,3,3&batch_norm=true"},
    {"vgg19_bn", "layers=2,2,4,4,4&batch_norm=true"},
}};

}  // namespace

const Family kVgg = {"vgg", kVggVariants, &Configure<VggConfig>};

}  // namespace foretell::zoo
