// Inception v3 (Szegedy et al. 2016) as torchvision builds it without the
// auxiliary classifier. Every mixed module runs branches side by side and
// concatenates them, so that all their results live at once.

#include <ATen/ops/cat.h>
#include <fmt/core.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/pooling.h>

#include <array>
#include <initializer_list>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr double kInceptionNormEpsilon = 1e-3;
constexpr std::int64_t kSmallestImage = 75;

struct InceptionConfig : ImageClassifier {
  InceptionConfig() { image_size = 299; }

  double dropout = 0.5;

  FORETELL_FIELDS(dropout, image_size, channels, classes)

  std::shared_ptr<Network> Make() const;
};

/// Convolution, batch norm, ReLU. Padding keeps the size unless it is off.
struct Unit {
  std::int64_t out;
  std::int64_t height = 1;  ///< Height of the kernel.
  std::int64_t width = 1;
  std::int64_t stride = 1;
  bool is_padded = true;
};

void AddUnit(Chain& chain, std::int64_t in, const Unit& unit) {
  const std::int64_t pad = unit.is_padded ? 1 : 0;
  Chain layers;
  layers->Add(torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, unit.out, {unit.height, unit.width})
          .stride(unit.stride)
          .padding({pad * (unit.height - 1) / 2, pad * (unit.width - 1) / 2})
          .bias(false)));
  layers->Add(torch::nn::BatchNorm2d(
      torch::nn::BatchNorm2dOptions(unit.out).eps(kInceptionNormEpsilon)));
  AddActivation(layers, "relu");
  chain->Add(layers);
}

Chain Units(std::int64_t in, std::initializer_list<Unit> units) {
  Chain chain;
  for (const Unit& unit : units) {
    AddUnit(chain, in, unit);
    in = unit.out;
  }
  return chain;
}

/// Branches on one input, concatenated along the channels.
class Mixed : public torch::nn::Module {
 public:
  explicit Mixed(std::initializer_list<Chain> branches) : branches_(branches) {
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      register_module(fmt::format("{}", i), branches_[i]);
    }
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    std::vector<at::Tensor> results;
    for (Chain& branch : branches_) results.push_back(branch->forward(x));
    return at::cat(results, 1);
  }

 private:
  std::vector<Chain> branches_;
};

std::shared_ptr<Mixed> Mix(std::initializer_list<Chain> branches) {
  return std::make_shared<Mixed>(branches);
}

Chain AveragePool(std::int64_t in, std::int64_t out) {
  Chain chain;
  chain->Add(torch::nn::AvgPool2d(
      torch::nn::AvgPool2dOptions(3).stride(1).padding(1)));
  AddUnit(chain, in, {out});
  return chain;
}

Chain MaxPool() {
  Chain chain;
  chain->Add(torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(2)));
  return chain;
}

/// 5×5 and 3×3 branches at a seventh of the image's size.
std::shared_ptr<Mixed> MixedA(std::int64_t in, std::int64_t pooled) {
  return Mix({Units(in, {{64}}), Units(in, {{48}, {64, 5, 5}}),
              Units(in, {{64}, {96, 3, 3}, {96, 3, 3}}),
              AveragePool(in, pooled)});
}

std::shared_ptr<Mixed> ReductionA(std::int64_t in) {
  return Mix({Units(in, {{384, 3, 3, 2, false}}),
              Units(in, {{64}, {96, 3, 3}, {96, 3, 3, 2, false}}), MaxPool()});
}

/// 7×7 convolutions as pairs of 1×7 and 7×1.
std::shared_ptr<Mixed> MixedB(std::int64_t in, std::int64_t inner) {
  return Mix(
      {Units(in, {{192}}), Units(in, {{inner}, {inner, 1, 7}, {192, 7, 1}}),
       Units(
           in,
           {{inner}, {inner, 7, 1}, {inner, 1, 7}, {inner, 7, 1}, {192, 1, 7}}),
       AveragePool(in, 192)});
}

std::shared_ptr<Mixed> ReductionB(std::int64_t in) {
  return Mix(
      {Units(in, {{192}, {320, 3, 3, 2, false}}),
       Units(in, {{192}, {192, 1, 7}, {192, 7, 1}, {192, 3, 3, 2, false}}),
       MaxPool()});
}

/// Branches that fork once more at their ends.
std::shared_ptr<Mixed> MixedC(std::int64_t in) {
  const auto fork = [] {
    return Mix({Units(384, {{384, 1, 3}}), Units(384, {{384, 3, 1}})});
  };
  Chain single = Units(in, {{384}});
  single->Add(fork());
  Chain twofold = Units(in, {{448}, {384, 3, 3}});
  twofold->Add(fork());
  return Mix({Units(in, {{320}}), single, twofold, AveragePool(in, 192)});
}

class InceptionV3 final : public UnaryNetwork {
 public:
  explicit InceptionV3(const InceptionConfig& config) {
    AddUnit(features_, config.channels, {32, 3, 3, 2, false});
    AddUnit(features_, 32, {32, 3, 3, 1, false});
    AddUnit(features_, 32, {64, 3, 3});
    features_->Add(MaxPool());
    AddUnit(features_, 64, {80});
    AddUnit(features_, 80, {192, 3, 3, 1, false});
    features_->Add(MaxPool());
    features_->Add(MixedA(192, 32));
    features_->Add(MixedA(256, 64));
    features_->Add(MixedA(288, 64));
    features_->Add(ReductionA(288));
    for (const std::int64_t inner : {128, 160, 160, 192}) {
      features_->Add(MixedB(768, inner));
    }
    features_->Add(ReductionB(768));
    features_->Add(MixedC(1280));
    features_->Add(MixedC(2048));
    features_->Add(torch::nn::AdaptiveAvgPool2d(1));
    features_->Add(torch::nn::Dropout(config.dropout));
    register_module("features", features_);
    classifier_ =
        register_module("classifier", torch::nn::Linear(2048, config.classes));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = features_->forward(x);
    y = at::flatten(y, 1);
    return classifier_->forward(y);
  }

 private:
  Chain features_;
  torch::nn::Linear classifier_ = nullptr;
};

std::shared_ptr<Network> InceptionConfig::Make() const {
  Require(image_size >= kSmallestImage,
          fmt::format("image_size={}: expected at least {}", image_size,
                      kSmallestImage));
  return std::make_shared<InceptionV3>(*this);
}

constexpr std::array<Variant, 1> kInceptionVariants = {{{"inception_v3", ""}}};

}  // namespace

const Family kInception = {"inception", kInceptionVariants,
                           &Configure<InceptionConfig>};

}  // namespace foretell::zoo
