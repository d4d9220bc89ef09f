// EfficientNet (Tan and Le 2019) as torchvision builds it: seven stages of
// inverted residuals with channel attention, which width, depth and image size
// scale together from B0 to B7. Stochastic depth grows linearly with a block's
// position.

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <torch/nn/modules/dropout.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "datasets/zoo/families.h"
#include "datasets/zoo/mobile_blocks.h"

namespace foretell::zoo {
namespace {

struct EfficientNetConfig : ImageClassifier {
  double width_multiplier = 1;
  double depth_multiplier = 1;
  double dropout = 0.2;
  double stochastic_depth = 0.2;  ///< Rate of a block after the last one.
  double norm_epsilon = 1e-5;

  FORETELL_FIELDS(width_multiplier, depth_multiplier, dropout, stochastic_depth,
                  norm_epsilon, image_size, channels, classes)

  std::shared_ptr<Network> Make() const;

  std::int64_t Scaled(std::int64_t width) const {
    return RoundChannels(static_cast<double>(width) * width_multiplier);
  }
  std::int64_t Repeats(std::int64_t layers) const {
    return static_cast<std::int64_t>(
        std::ceil(static_cast<double>(layers) * depth_multiplier));
  }
};

/// Table 1 of the paper.
struct EfficientNetStage {
  std::int64_t expansion, kernel, stride, out, layers;
};
constexpr EfficientNetStage kEfficientNetStages[] = {
    {1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},  {6, 3, 2, 80, 3},
    {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1},
};
constexpr std::int64_t kEfficientNetStem = 32;
constexpr std::int64_t kLastExpansion = 4;

class EfficientNet final : public UnaryNetwork {
 public:
  explicit EfficientNet(const EfficientNetConfig& config) : config_(config) {
    for (const EfficientNetStage& stage : kEfficientNetStages)
      blocks_ += config.Repeats(stage.layers);
    std::int64_t in = config.Scaled(kEfficientNetStem);
    AddConvNormUnit(
        features_, {.in = config.channels, .out = in, .kernel = 3, .stride = 2},
        "silu", config.norm_epsilon);
    for (const EfficientNetStage& stage : kEfficientNetStages)
      in = AddStage(stage, in);
    const std::int64_t last = kLastExpansion * in;
    AddConvNormUnit(features_, {.in = in, .out = last}, "silu",
                    config.norm_epsilon);
    register_module("features", features_);
    classifier_->Add(torch::nn::Dropout(
        torch::nn::DropoutOptions(config.dropout).inplace(true)));
    classifier_->Add(torch::nn::Linear(last, config.classes));
    register_module("classifier", classifier_);
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = features_->forward(x);
    y = at::adaptive_avg_pool2d(y, {1, 1});
    y = at::flatten(y, 1);
    return classifier_->forward(y);
  }

 private:
  /// Returns the stage's channels.
  std::int64_t AddStage(const EfficientNetStage& stage, std::int64_t in) {
    const std::int64_t out = config_.Scaled(stage.out);
    Chain chain;
    for (std::int64_t i = 0; i < config_.Repeats(stage.layers); ++i) {
      InvertedResidualShape shape = Block(stage, i == 0 ? in : out);
      if (i > 0) shape.stride = 1;
      chain->Add(std::make_shared<InvertedResidual>(shape));
      ++position_;
    }
    features_->Add(chain);
    return out;
  }

  InvertedResidualShape Block(const EfficientNetStage& stage,
                              std::int64_t in) const {
    const std::int64_t hidden =
        RoundChannels(static_cast<double>(in * stage.expansion));
    return {
        .in = in,
        .hidden = hidden,
        .out = config_.Scaled(stage.out),
        .kernel = stage.kernel,
        .stride = stage.stride,
        .activation = "silu",
        .squeeze = SqueezeShape{.channels = hidden,
                                .squeezed = std::max<std::int64_t>(1, in / 4),
                                .uses_silu = true},
        .norm_epsilon = config_.norm_epsilon,
        .stochastic_depth = config_.stochastic_depth *
                            static_cast<double>(position_) /
                            static_cast<double>(blocks_)};
  }

  EfficientNetConfig config_;
  std::int64_t blocks_ = 0;
  std::int64_t position_ = 0;  ///< Position of the next block.
  Chain features_;
  Chain classifier_;
};

std::shared_ptr<Network> EfficientNetConfig::Make() const {
  Require(width_multiplier > 0, "width_multiplier: expected more than 0");
  Require(depth_multiplier > 0 && depth_multiplier <= 100,
          "depth_multiplier: expected more than 0 and at most 100");
  return std::make_shared<EfficientNet>(*this);
}

constexpr std::array<Variant, 8> kEfficientNetVariants = {{
    {"efficientnet_b0", ""},
    {"efficientnet_b1", "depth_multiplier=1.1&image_size=240"},
    {"efficientnet_b2",
     "width_multiplier=1.1&depth_multiplier=1.2&dropout=0.3&image_size=260"},
    {"efficientnet_b3",
     "width_multiplier=1.2&depth_multiplier=1.4&dropout=0.3&image_size=300"},
    {"efficientnet_b4",
     "width_multiplier=1.4&depth_multiplier=1.8&dropout=0.4&image_size=380"},
    {"efficientnet_b5",
     "width_multiplier=1.6&depth_multiplier=2.2&dropout=0.4&image_size=456&"
     "norm_epsilon=0.001"},
    {"efficientnet_b6",
     "width_multiplier=1.8&depth_multiplier=2.6&dropout=0.5&image_size=528&"
     "norm_epsilon=0.001"},
    {"efficientnet_b7",
     "width_multiplier=2&depth_multiplier=3.1&dropout=0.5&image_size=600&"
     "norm_epsilon=0.001"},
}};

}  // namespace

const Family kEfficientNet = {"efficientnet", kEfficientNetVariants,
                              &Configure<EfficientNetConfig>};

}  // namespace foretell::zoo
