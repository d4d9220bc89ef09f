// RegNet X and Y (Radosavovic et al. 2020) as torchvision builds them. Four
// numbers generate the whole network: block j would be w_0 + w_a·j wide, which
// is rounded to w_0·w_m^k for the nearest integer k and then to a multiple of
// 8; blocks of one width are a stage. Rounding happens in single precision, as
// in the reference, because stages may hinge on it. Y adds channel attention.

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "datasets/zoo/families.h"
#include "datasets/zoo/mobile_blocks.h"
#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr std::int64_t kWidthQuantum = 8;
constexpr std::int64_t kRegNetMaxDepth = 1000;

struct RegNetConfig : ImageClassifier {
  std::int64_t depth = 22;
  std::int64_t initial_width = 24;  ///< w_0, a multiple of 8.
  double width_slope = 24.48;       ///< w_a.
  double width_step = 2.54;         ///< w_m, above 1.
  std::int64_t group_width = 16;
  double squeeze_ratio = 0;  ///< 0: no channel attention.
  std::int64_t stem_width = 32;

  FORETELL_FIELDS(depth, initial_width, width_slope, width_step, group_width,
                  squeeze_ratio, stem_width, image_size, channels, classes)

  std::shared_ptr<Network> Make() const;
};

struct RegNetStage {
  std::int64_t width;
  std::int64_t depth;
  std::int64_t group_width;
};

std::int64_t BlockWidth(const RegNetConfig& config, std::int64_t index) {
  const auto initial = static_cast<float>(config.initial_width);
  const float linear =
      static_cast<float>(index) * static_cast<float>(config.width_slope) +
      initial;
  const float power =
      std::nearbyint(std::log(linear / initial) /
                     static_cast<float>(std::log(config.width_step)));
  const float width =
      initial * std::pow(static_cast<float>(config.width_step), power);
  const auto quantum = static_cast<float>(kWidthQuantum);
  return static_cast<std::int64_t>(std::nearbyint(width / quantum)) *
         kWidthQuantum;
}

std::vector<RegNetStage> RegNetStages(const RegNetConfig& config) {
  std::vector<RegNetStage> stages;
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::int64_t width = BlockWidth(config, i);
    if (stages.empty() || stages.back().width != width) {
      stages.push_back({width, 0, std::min(config.group_width, width)});
    }
    ++stages.back().depth;
  }
  for (RegNetStage& stage : stages) {
    stage.width =
        RoundChannels(static_cast<double>(stage.width), stage.group_width);
  }
  return stages;
}

/// Bottleneck without a bottleneck: all three convolutions are equally wide.
class RegNetBlock : public torch::nn::Module {
 public:
  RegNetBlock(const RegNetStage& stage, std::int64_t in, std::int64_t stride,
              double squeeze_ratio) {
    const std::int64_t out = stage.width;
    if (in != out || stride != 1) {
      AddConvNorm(projection_, {.in = in, .out = out, .stride = stride}, "");
      register_module("projection", projection_);
    }
    AddConvNormUnit(branch_, {.in = in, .out = out}, "relu");
    AddConvNormUnit(branch_,
                    {.in = out,
                     .out = out,
                     .kernel = 3,
                     .stride = stride,
                     .groups = out / stage.group_width},
                    "relu");
    if (squeeze_ratio > 0) {
      const auto squeezed = static_cast<std::int64_t>(
          std::nearbyint(squeeze_ratio * static_cast<double>(in)));
      branch_->Add(std::make_shared<SqueezeExcitation>(
          SqueezeShape{.channels = out, .squeezed = squeezed}));
    }
    AddConvNormUnit(branch_, {.in = out, .out = out}, "");
    register_module("branch", branch_);
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    at::Tensor y = projection_->is_empty() ? x : projection_->forward(x);
    y = y + branch_->forward(x);
    return at::relu_(y);
  }

 private:
  Chain projection_;
  Chain branch_;
};

class RegNet final : public UnaryNetwork {
 public:
  explicit RegNet(const RegNetConfig& config) {
    std::int64_t in = config.stem_width;
    AddConvNormUnit(
        features_, {.in = config.channels, .out = in, .kernel = 3, .stride = 2},
        "relu");
    Chain trunk;
    for (const RegNetStage& stage : RegNetStages(config)) {
      Chain blocks;
      for (std::int64_t i = 0; i < stage.depth; ++i) {
        blocks->Add(std::make_shared<RegNetBlock>(stage, in, i == 0 ? 2 : 1,
                                                  config.squeeze_ratio));
        in = stage.width;
      }
      trunk->Add(blocks);
    }
    features_->Add(trunk);
    register_module("features", features_);
    classifier_ =
        register_module("classifier", torch::nn::Linear(in, config.classes));
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = features_->forward(x);
    y = at::adaptive_avg_pool2d(y, {1, 1});
    y = at::flatten(y, 1);
    return classifier_->forward(y);
  }

 private:
  Chain features_;
  torch::nn::Linear classifier_ = nullptr;
};

std::shared_ptr<Network> RegNetConfig::Make() const {
  Require(depth > 0 && depth <= kRegNetMaxDepth,
          fmt::format("depth={}: expected 1 to {}", depth, kRegNetMaxDepth));
  Require(initial_width > 0 && initial_width % kWidthQuantum == 0,
          fmt::format("initial_width={}: expected a multiple of {}",
                      initial_width, kWidthQuantum));
  Require(width_slope >= 0 && width_step > 1,
          "width_slope and width_step: expected at least 0 and above 1");
  Require(group_width > 0, "group_width=0: expected at least 1");
  return std::make_shared<RegNet>(*this);
}

constexpr std::array<Variant, 10> kRegNetVariants = {{
    {"regnet_x_400mf", ""},
    {"regnet_x_800mf",
     "depth=16&initial_width=56&width_slope=35.73&width_step=2.28"},
    {"regnet_x_1_6gf",
     "depth=18&initial_width=80&width_slope=34.01&width_step=2.25&"
     "group_width=24"},
    {"regnet_x_3_2gf",
     "depth=25&initial_width=88&width_slope=26.31&width_step=2.25&"
     "group_width=48"},
    {"regnet_x_8gf",
     "depth=23&initial_width=80&width_slope=49.56&width_step=2.88&"
     "group_width=120"},
    {"regnet_y_400mf",
     "depth=16&initial_width=48&width_slope=27.89&width_step=2.09&"
     "group_width=8&squeeze_ratio=0.25"},
    {"regnet_y_800mf",
     "depth=14&initial_width=56&width_slope=38.84&width_step=2.4&"
     "squeeze_ratio=0.25"},
    {"regnet_y_1_6gf",
     "depth=27&initial_width=48&width_slope=20.71&width_step=2.65&"
     "group_width=24&squeeze_ratio=0.25"},
    {"regnet_y_3_2gf",
     "depth=21&initial_width=80&width_slope=42.63&width_step=2.66&"
     "group_width=24&squeeze_ratio=0.25"},
    {"regnet_y_8gf",
     "depth=17&initial_width=192&width_slope=76.82&width_step=2.19&"
     "group_width=56&squeeze_ratio=0.25"},
}};

}  // namespace

const Family kRegNet = {"regnet", kRegNetVariants, &Configure<RegNetConfig>};

}  // namespace foretell::zoo
