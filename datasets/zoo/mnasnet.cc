// MnasNet-B1 (Tan et al. 2019) as torchvision builds it: six stacks of inverted
// residuals found by search, scaled by a width multiplier.

#include <ATen/ops/mean.h>
#include <torch/nn/modules/dropout.h>

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/mobile_blocks.h"

namespace foretell::zoo {
namespace {

struct MnasNetConfig : ImageClassifier {
  double width_multiplier = 1;
  double dropout = 0.2;

  FORETELL_FIELDS(width_multiplier, dropout, image_size, channels, classes)

  std::shared_ptr<Network> Make() const;

  std::int64_t Scaled(std::int64_t width) const {
    return RoundChannels(static_cast<double>(width) * width_multiplier);
  }
};

/// `repeats` blocks of which the first has the stride.
struct Stack {
  std::int64_t out, kernel, stride, expansion, repeats;
};
constexpr Stack kStacks[] = {
    {24, 3, 2, 3, 3}, {40, 5, 2, 3, 3},  {80, 5, 2, 6, 3},
    {96, 3, 1, 6, 2}, {192, 5, 2, 6, 4}, {320, 3, 1, 6, 1},
};
constexpr std::int64_t kMnasNetStem = 32;
constexpr std::int64_t kSeparable = 16;
constexpr std::int64_t kLast = 1280;

class MnasNet final : public UnaryNetwork {
 public:
  explicit MnasNet(const MnasNetConfig& config) {
    const std::int64_t stem = config.Scaled(kMnasNetStem);
    std::int64_t in = config.Scaled(kSeparable);
    AddConvNorm(features_,
                {.in = config.channels, .out = stem, .kernel = 3, .stride = 2},
                "relu");
    AddConvNorm(features_,
                {.in = stem, .out = stem, .kernel = 3, .groups = stem}, "relu");
    AddConvNorm(features_, {.in = stem, .out = in}, "");
    for (const Stack& stack : kStacks) {
      const std::int64_t out = config.Scaled(stack.out);
      AddStack(stack, in, out);
      in = out;
    }
    AddConvNorm(features_, {.in = in, .out = kLast}, "relu");
    register_module("features", features_);
    classifier_->Add(torch::nn::Dropout(
        torch::nn::DropoutOptions(config.dropout).inplace(true)));
    classifier_->Add(torch::nn::Linear(kLast, config.classes));
    register_module("classifier", classifier_);
  }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = features_->forward(x);
    y = at::mean(y, at::IntArrayRef({2, 3}));
    return classifier_->forward(y);
  }

 private:
  void AddStack(const Stack& stack, std::int64_t in, std::int64_t out) {
    Chain chain;
    for (std::int64_t i = 0; i < stack.repeats; ++i) {
      const std::int64_t from = i == 0 ? in : out;
      chain->Add(std::make_shared<InvertedResidual>(
          InvertedResidualShape{.in = from,
                                .hidden = from * stack.expansion,
                                .out = out,
                                .kernel = stack.kernel,
                                .stride = i == 0 ? stack.stride : 1,
                                .activation = "relu",
                                .style = {.nests_units = false,
                                          .nests_projection = false,
                                          .adds_in_place = false}}));
    }
    features_->Add(chain);
  }

  Chain features_;
  Chain classifier_;
};

std::shared_ptr<Network> MnasNetConfig::Make() const {
  Require(width_multiplier > 0, "width_multiplier: expected more than 0");
  return std::make_shared<MnasNet>(*this);
}

constexpr std::array<Variant, 4> kMnasNetVariants = {{
    {"mnasnet0_5", "width_multiplier=0.5"},
    {"mnasnet0_75", "width_multiplier=0.75"},
    {"mnasnet1_0", "width_multiplier=1"},
    {"mnasnet1_3", "width_multiplier=1.3"},
}};

}  // namespace

const Family kMnasNet = {"mnasnet", kMnasNetVariants,
                         &Configure<MnasNetConfig>};

}  // namespace foretell::zoo
