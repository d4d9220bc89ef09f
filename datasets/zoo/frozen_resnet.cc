#include "datasets/zoo/frozen_resnet.h"

#include <torch/nn/modules/pooling.h>

#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr double kFrozenNormEpsilon = 1e-5;
constexpr std::int64_t kFrozenStemWidth = 64;
constexpr std::int64_t kBottleneckExpansion = 4;

/// FrozenBatchNorm2d of facebookresearch/detr: eight operators in any mode.
class FrozenNorm final : public torch::nn::Module {
 public:
  explicit FrozenNorm(std::int64_t width) {
    weight_ = register_buffer("weight", at::ones({width}));
    bias_ = register_buffer("bias", at::zeros({width}));
    mean_ = register_buffer("running_mean", at::zeros({width}));
    variance_ = register_buffer("running_var", at::ones({width}));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    const auto by_channel = [](const at::Tensor& values) {
      return values.reshape({1, -1, 1, 1});
    };
    const at::Tensor weight = by_channel(weight_);
    const at::Tensor bias = by_channel(bias_);
    const at::Tensor variance = by_channel(variance_);
    const at::Tensor mean = by_channel(mean_);
    const at::Tensor scale = weight * (variance + kFrozenNormEpsilon).rsqrt();
    const at::Tensor shift = bias - mean * scale;
    return x * scale + shift;
  }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  at::Tensor mean_;
  at::Tensor variance_;
};

/// A convolution whose weight is not trained.
class FrozenConv final : public torch::nn::Module {
 public:
  explicit FrozenConv(const ConvShape& shape)
      : stride_(shape.stride), padding_((shape.kernel - 1) / 2) {
    weight_ = register_buffer(
        "weight", at::zeros({shape.out, shape.in, shape.kernel, shape.kernel}));
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    return at::conv2d(x, weight_, {}, stride_, padding_);
  }

 private:
  std::int64_t stride_;
  std::int64_t padding_;
  at::Tensor weight_;
};

void AddFrozenNorm(Chain& chain, const ConvShape& shape, bool trained) {
  if (trained) {
    chain->Add(Conv(shape, /*bias=*/false));
  } else {
    chain->Add(std::make_shared<FrozenConv>(shape));
  }
  chain->Add(std::make_shared<FrozenNorm>(shape.out));
}

/// What differs between the blocks of a stage.
struct BottleneckShape {
  std::int64_t in = 0;
  std::int64_t planes = 0;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  bool trained = true;

  std::int64_t out() const { return planes * kBottleneckExpansion; }
};

class FrozenBottleneck final : public torch::nn::Module {
 public:
  explicit FrozenBottleneck(const BottleneckShape& shape) {
    const std::int64_t planes = shape.planes;
    AddFrozenNorm(branch_, {.in = shape.in, .out = planes}, shape.trained);
    AddActivation(branch_, "relu");
    AddFrozenNorm(branch_,
                  {.in = planes,
                   .out = planes,
                   .kernel = 3,
                   .stride = shape.stride,
                   .dilation = shape.dilation},
                  shape.trained);
    AddActivation(branch_, "relu");
    AddFrozenNorm(branch_, {.in = planes, .out = shape.out()}, shape.trained);
    register_module("branch", branch_);
    if (shape.stride == 1 && shape.in == shape.out()) return;
    AddFrozenNorm(downsample_,
                  {.in = shape.in, .out = shape.out(), .stride = shape.stride},
                  shape.trained);
    register_module("downsample", downsample_);
  }

  at::Tensor forward(const at::Tensor& x) {
    const ModuleScope scope(*this);
    return ResidualRelu(branch_, downsample_, x);
  }

 private:
  Chain branch_;
  Chain downsample_;
};

}  // namespace

Chain FrozenResNet(const FrozenResNetOptions& options) {
  Chain features;
  AddFrozenNorm(features,
                {.in = 3, .out = kFrozenStemWidth, .kernel = 7, .stride = 2},
                /*trained=*/false);
  AddActivation(features, "relu");
  features->Add(torch::nn::MaxPool2d(
      torch::nn::MaxPool2dOptions(3).stride(2).padding(1)));
  BottleneckShape shape = {.in = kFrozenStemWidth, .planes = kFrozenStemWidth};
  for (std::size_t stage = 0; stage < options.layers.size(); ++stage) {
    const bool dilates = options.dilated && stage + 1 == options.layers.size();
    shape.trained = stage > 0;
    for (std::int64_t i = 0; i < options.layers[stage]; ++i) {
      shape.stride = i == 0 && stage > 0 && !dilates ? 2 : 1;
      shape.dilation = dilates && i > 0 ? 2 : 1;
      features->Add(std::make_shared<FrozenBottleneck>(shape));
      shape.in = shape.out();
    }
    shape.planes *= 2;
  }
  return features;
}

}  // namespace foretell::zoo
