// ResNet, Wide ResNet and ResNeXt (He et al. 2015, Zagoruyko and Komodakis
// 2016, Xie et al. 2016), with the stride in the 3×3 convolution as in
// torchvision. A wide network widens only the inner convolutions; ResNeXt
// splits them into groups.

#include <torch/nn/modules/pooling.h>

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

struct ResNetConfig : ImageClassifier {
  std::string block = "basic";                      ///< Or "bottleneck".
  std::vector<std::int64_t> layers = {2, 2, 2, 2};  ///< Blocks per stage.
  std::int64_t width = 64;  ///< Channels after the stem, doubled per stage.
  std::int64_t groups = 1;
  std::int64_t width_per_group = 64;

  FORETELL_FIELDS(block, layers, width, groups, width_per_group, image_size,
                  channels, classes)

  std::shared_ptr<Network> Make() const;

  std::int64_t expansion() const { return block == "bottleneck" ? 4 : 1; }
};

/// A residual block: a branch of convolutions plus the identity, which is
/// projected where the shape changes.
struct ResidualBlock : torch::nn::Module {
  ResidualBlock(const ResNetConfig& config, std::int64_t in,
                std::int64_t planes, std::int64_t stride) {
    const std::int64_t out = planes * config.expansion();
    if (config.block == "bottleneck") {
      const std::int64_t inner =
          planes * config.width_per_group / 64 * config.groups;
      AddConvNorm(branch_, {.in = in, .out = inner}, "relu");
      AddConvNorm(branch_,
                  {.in = inner,
                   .out = inner,
                   .kernel = 3,
                   .stride = stride,
                   .groups = config.groups},
                  "relu");
      AddConvNorm(branch_, {.in = inner, .out = out}, "");
    } else {
      AddConvNorm(branch_,
                  {.in = in, .out = planes, .kernel = 3, .stride = stride},
                  "relu");
      AddConvNorm(branch_, {.in = planes, .out = planes, .kernel = 3}, "");
    }
    register_module("branch", branch_);
    if (stride != 1 || in != out) {
      AddConvNorm(downsample_, {.in = in, .out = out, .stride = stride}, "");
      register_module("downsample", downsample_);
    }
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    return ResidualRelu(branch_, downsample_, x);
  }

 private:
  Chain branch_;
  Chain downsample_;
};

class ResNet final : public UnaryNetwork {
 public:
  explicit ResNet(const ResNetConfig& config) {
    AddConvNorm(
        features_,
        {.in = config.channels, .out = config.width, .kernel = 7, .stride = 2},
        "relu");
    features_->Add(torch::nn::MaxPool2d(
        torch::nn::MaxPool2dOptions(3).stride(2).padding(1)));
    std::int64_t in = config.width;
    std::int64_t planes = config.width;
    for (std::size_t stage = 0; stage < config.layers.size(); ++stage) {
      Chain blocks;
      for (std::int64_t i = 0; i < config.layers[stage]; ++i) {
        const std::int64_t stride = i == 0 && stage > 0 ? 2 : 1;
        blocks->Add(
            std::make_shared<ResidualBlock>(config, in, planes, stride));
        in = planes * config.expansion();
      }
      features_->Add(blocks);
      planes *= 2;
    }
    features_->Add(torch::nn::AdaptiveAvgPool2d(1));
    register_module("features", features_);
    classifier_ =
        register_module("classifier", torch::nn::Linear(in, config.classes));
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

std::shared_ptr<Network> ResNetConfig::Make() const {
  Require(block == "basic" || block == "bottleneck",
          "block=" + block + ": expected basic or bottleneck");
  Require(block == "bottleneck" || (groups == 1 && width_per_group == 64),
          "groups and width_per_group need block=bottleneck");
  return std::make_shared<ResNet>(*this);
}

constexpr std::array<Variant, 10> kResNetVariants = {{
    {"resnet18", "layers=2,2,2,2"},
    {"resnet34", "layers=3,4,6,3"},
    {"resnet50", "block=bottleneck&layers=3,4,6,3"},
    {"resnet101", "block=bottleneck&layers=3,4,23,3"},
    {"resnet152", "block=bottleneck&layers=3,8,36,3"},
    {"resnext50_32x4d",
     "block=bottleneck&layers=3,4,6,3&groups=32&width_per_group=4"},
    {"resnext101_32x8d",
     "block=bottleneck&layers=3,4,23,3&groups=32&width_per_group=8"},
    {"resnext101_64x4d",
     "block=bottleneck&layers=3,4,23,3&groups=64&width_per_group=4"},
    {"wide_resnet50_2", "block=bottleneck&layers=3,4,6,3&width_per_group=128"},
    {"wide_resnet101_2",
     "block=bottleneck&layers=3,4,23,3&width_per_group=128"},
}};

}  // namespace

const Family kResNet = {"resnet", kResNetVariants, &Configure<ResNetConfig>};

}  // namespace foretell::zoo
