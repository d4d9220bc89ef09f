// MobileNet v2 (Sandler et al. 2018) and v3 (Howard et al. 2019) as torchvision
// builds them: tables of inverted residuals, whose channels a width multiplier
// scales.

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <torch/nn/modules/dropout.h>

#include <algorithm>
#include <array>
#include <span>

#include "datasets/zoo/families.h"
#include "datasets/zoo/mobile_blocks.h"

namespace foretell::zoo {
namespace {

struct MobileNetConfig : ImageClassifier {
  std::string version = "v2";  ///< Or "v3_large", "v3_small".
  double width_multiplier = 1;
  double dropout = 0.2;

  FORETELL_FIELDS(version, width_multiplier, dropout, image_size, channels,
                  classes)

  std::shared_ptr<Network> Make() const;

  std::int64_t Scaled(std::int64_t width) const {
    return RoundChannels(static_cast<double>(width) * width_multiplier);
  }
};

/// `repeats` blocks of which the first has the stride.
struct V2Stage {
  std::int64_t expansion, out, repeats, stride;
};
constexpr V2Stage kV2Stages[] = {
    {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2},  {6, 64, 4, 2},
    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
};
constexpr std::int64_t kV2Stem = 32;
constexpr std::int64_t kV2Last = 1280;

struct V3Block {
  std::int64_t kernel, hidden, out;
  bool has_squeeze;
  const char* activation;
  std::int64_t stride;
};
constexpr V3Block kV3Large[] = {
    {3, 16, 16, false, "relu", 1},       {3, 64, 24, false, "relu", 2},
    {3, 72, 24, false, "relu", 1},       {5, 72, 40, true, "relu", 2},
    {5, 120, 40, true, "relu", 1},       {5, 120, 40, true, "relu", 1},
    {3, 240, 80, false, "hardswish", 2}, {3, 200, 80, false, "hardswish", 1},
    {3, 184, 80, false, "hardswish", 1}, {3, 184, 80, false, "hardswish", 1},
    {3, 480, 112, true, "hardswish", 1}, {3, 672, 112, true, "hardswish", 1},
    {5, 672, 160, true, "hardswish", 2}, {5, 960, 160, true, "hardswish", 1},
    {5, 960, 160, true, "hardswish", 1},
};
constexpr V3Block kV3Small[] = {
    {3, 16, 16, true, "relu", 2},       {3, 72, 24, false, "relu", 2},
    {3, 88, 24, false, "relu", 1},      {5, 96, 40, true, "hardswish", 2},
    {5, 240, 40, true, "hardswish", 1}, {5, 240, 40, true, "hardswish", 1},
    {5, 120, 48, true, "hardswish", 1}, {5, 144, 48, true, "hardswish", 1},
    {5, 288, 96, true, "hardswish", 2}, {5, 576, 96, true, "hardswish", 1},
    {5, 576, 96, true, "hardswish", 1},
};
constexpr std::int64_t kV3Stem = 16;
constexpr std::int64_t kV3LastExpansion = 6;
constexpr double kV3NormEpsilon = 1e-3;

struct V3Version {
  std::span<const V3Block> blocks;
  std::int64_t hidden;  ///< Width of the classifier.
};

class MobileNet final : public UnaryNetwork {
 public:
  explicit MobileNet(const MobileNetConfig& config) : config_(config) {
    if (config.version == "v2") {
      AddV2();
    } else if (config.version == "v3_large") {
      AddV3({kV3Large, 1280});
    } else {
      AddV3({kV3Small, 1024});
    }
    register_module("features", features_);
    register_module("classifier", classifier_);
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = features_->forward(x);
    y = at::adaptive_avg_pool2d(y, {1, 1});
    y = at::flatten(y, 1);
    return classifier_->forward(y);
  }

 private:
  /// The first convolution; returns its channels.
  std::int64_t AddStem(std::int64_t width, const char* activation,
                       double norm_epsilon) {
    const std::int64_t out = config_.Scaled(width);
    AddConvNormUnit(
        features_,
        {.in = config_.channels, .out = out, .kernel = 3, .stride = 2},
        activation, norm_epsilon);
    return out;
  }

  void AddV2() {
    std::int64_t in = AddStem(kV2Stem, "relu6", 1e-5);
    for (const V2Stage& stage : kV2Stages) {
      const std::int64_t out = config_.Scaled(stage.out);
      for (std::int64_t i = 0; i < stage.repeats; ++i) {
        features_->Add(std::make_shared<InvertedResidual>(InvertedResidualShape{
            .in = in,
            .hidden = in * stage.expansion,
            .out = out,
            .stride = i == 0 ? stage.stride : 1,
            .style = {.nests_projection = false, .adds_in_place = false}}));
        in = out;
      }
    }
    const std::int64_t last =
        RoundChannels(kV2Last * std::max(1.0, config_.width_multiplier));
    AddConvNormUnit(features_, {.in = in, .out = last}, "relu6");
    classifier_->Add(torch::nn::Dropout(config_.dropout));
    classifier_->Add(torch::nn::Linear(last, config_.classes));
  }

  void AddV3(const V3Version& version) {
    std::int64_t in = AddStem(kV3Stem, "hardswish", kV3NormEpsilon);
    for (const V3Block& block : version.blocks) {
      features_->Add(std::make_shared<InvertedResidual>(V3Shape(in, block)));
      in = config_.Scaled(block.out);
    }
    const std::int64_t last = kV3LastExpansion * in;
    AddConvNormUnit(features_, {.in = in, .out = last}, "hardswish",
                    kV3NormEpsilon);
    const std::int64_t hidden = config_.Scaled(version.hidden);
    classifier_->Add(torch::nn::Linear(last, hidden));
    AddActivation(classifier_, "hardswish");
    classifier_->Add(torch::nn::Dropout(
        torch::nn::DropoutOptions(config_.dropout).inplace(true)));
    classifier_->Add(torch::nn::Linear(hidden, config_.classes));
  }

  InvertedResidualShape V3Shape(std::int64_t in, const V3Block& block) const {
    InvertedResidualShape shape{.in = in,
                                .hidden = config_.Scaled(block.hidden),
                                .out = config_.Scaled(block.out),
                                .kernel = block.kernel,
                                .stride = block.stride,
                                .activation = block.activation,
                                .norm_epsilon = kV3NormEpsilon};
    if (block.has_squeeze) {
      const std::int64_t quarter = shape.hidden / 4;
      shape.squeeze = {.channels = shape.hidden,
                       .squeezed = RoundChannels(static_cast<double>(quarter)),
                       .has_hard_gate = true};
    }
    return shape;
  }

  MobileNetConfig config_;
  Chain features_;
  Chain classifier_;
};

std::shared_ptr<Network> MobileNetConfig::Make() const {
  Require(version == "v2" || version == "v3_large" || version == "v3_small",
          "version=" + version + ": expected v2, v3_large or v3_small");
  Require(width_multiplier > 0, "width_multiplier: expected more than 0");
  return std::make_shared<MobileNet>(*this);
}

constexpr std::array<Variant, 3> kMobileNetVariants = {{
    {"mobilenet_v2", "version=v2"},
    {"mobilenet_v3_large", "version=v3_large"},
    {"mobilenet_v3_small", "version=v3_small"},
}};

}  // namespace

const Family kMobileNet = {"mobilenet", kMobileNetVariants,
                           &Configure<MobileNetConfig>};

}  // namespace foretell::zoo
