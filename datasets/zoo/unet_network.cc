#include "datasets/zoo/unet_network.h"

#include <ATen/ops/cat.h>
#include <fmt/core.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/pooling.h>

#include <algorithm>

#include "datasets/zoo/family.h"
#include "datasets/zoo/layers.h"
#include "src/core/numbers.h"

namespace foretell::zoo {
namespace {

constexpr std::int64_t kUNetMaxDepth = 12;

/// Module types of an image with so many dimensions.
template <int kDimensions>
struct Kit;
template <>
struct Kit<2> {
  using Convolution = torch::nn::Conv2d;
  using Norm = torch::nn::BatchNorm2d;
  using Pool = torch::nn::MaxPool2d;
  using Raise = torch::nn::ConvTranspose2d;
};
template <>
struct Kit<3> {
  using Convolution = torch::nn::Conv3d;
  using Norm = torch::nn::BatchNorm3d;
  using Pool = torch::nn::MaxPool3d;
  using Raise = torch::nn::ConvTranspose3d;
};

template <int kDimensions>
class UNet final : public UnaryNetwork {
 public:
  explicit UNet(const UNetShape& shape) : shape_(shape) {
    std::int64_t in = shape.in;
    std::int64_t width = shape.width;
    for (std::int64_t level = 0; level <= shape.depth; ++level) {
      AddEncoder(level, in, width);
      in = width;
      width *= 2;
    }
    for (std::int64_t level = 0; level < shape.depth; ++level) {
      AddDecoder(in);
      in /= 2;
    }
    result_ = register_module("result", ConvolutionOf(in, shape.out, 1, true));
  }

  at::Tensor forward(const at::Tensor& x) override {
    std::vector<at::Tensor> levels;
    for (Chain& encoder : encoders_) {
      levels.push_back(encoder->forward(levels.empty() ? x : levels.back()));
    }
    at::Tensor y = levels.back();
    for (std::size_t i = 0; i < decoders_.size(); ++i) {
      y = Decode(i, y, levels[decoders_.size() - 1 - i]);
    }
    return result_->forward(y);
  }

 private:
  using Parts = Kit<kDimensions>;

  static typename Parts::Convolution ConvolutionOf(std::int64_t in,
                                                   std::int64_t out,
                                                   std::int64_t kernel,
                                                   bool bias) {
    return typename Parts::Convolution(
        torch::nn::ConvOptions<kDimensions>(in, out, kernel)
            .padding(kernel / 2)
            .bias(bias));
  }

  void AddConvolution(Chain& chain, std::int64_t in, std::int64_t out) const {
    chain->Add(ConvolutionOf(in, out, 3, shape_.bias));
    if (shape_.batch_norm) chain->Add(typename Parts::Norm(out));
    AddActivation(chain, "relu");
  }

  void AddEncoder(std::int64_t level, std::int64_t in, std::int64_t out) {
    const std::int64_t count =
        shape_.encoder_layers.empty()
            ? 2
            : shape_.encoder_layers[static_cast<std::size_t>(level)];
    Chain convolutions;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool is_last = i + 1 == count;
      const std::int64_t to = shape_.doubles_late && !is_last ? out / 2 : out;
      AddConvolution(convolutions, in, to);
      in = to;
    }
    Chain encoder;
    if (level > 0) {
      encoder->Add(typename Parts::Pool(
          torch::nn::MaxPoolOptions<kDimensions>(2).stride(2)));
    }
    encoder->Add(convolutions);
    encoders_.push_back(
        register_module(fmt::format("encoder{}", level), encoder));
  }

  /// From `in` channels, joined with a level of half as many, to that half.
  void AddDecoder(std::int64_t in) {
    const std::int64_t out = in / 2;
    const std::int64_t raised = shape_.doubles_late ? in : out;
    const std::string number = fmt::format("{}", decoders_.size());
    raises_.push_back(register_module(
        "raise" + number,
        typename Parts::Raise(
            torch::nn::ConvTransposeOptions<kDimensions>(in, raised, 2)
                .stride(2)
                .bias(shape_.raises_with_bias))));
    Chain decoder;
    AddConvolution(decoder, raised + out, out);
    AddConvolution(decoder, out, out);
    decoders_.push_back(register_module("decoder" + number, decoder));
  }

  at::Tensor Decode(std::size_t index, const at::Tensor& x,
                    const at::Tensor& level) {
    const at::Tensor raised = raises_[index]->forward(x);
    const at::Tensor joined = at::cat({level, raised}, 1);
    return decoders_[index]->forward(joined);
  }

  UNetShape shape_;
  std::vector<Chain> encoders_;
  std::vector<typename Parts::Raise> raises_;
  std::vector<Chain> decoders_;
  typename Parts::Convolution result_ = nullptr;
};

}  // namespace

std::shared_ptr<UnaryNetwork> MakeUNet(const UNetShape& shape) {
  Require(
      shape.depth <= kUNetMaxDepth,
      fmt::format("depth={}: expected at most {}", shape.depth, kUNetMaxDepth));
  const auto levels = static_cast<std::size_t>(shape.depth) + 1;
  Require(shape.encoder_layers.empty() || shape.encoder_layers.size() == levels,
          fmt::format("encoder_layers: expected {} numbers, found {}", levels,
                      shape.encoder_layers.size()));
  for (const std::int64_t count : shape.encoder_layers) {
    Require(count > 0, "encoder_layers: expected at least 1 per level");
  }
  Require(shape.width > 0 && shape.width % 2 == 0,
          fmt::format("width={}: expected an even number", shape.width));
  if (shape.dimensions == 3) return std::make_shared<UNet<3>>(shape);
  return std::make_shared<UNet<2>>(shape);
}

void RequireHalves(std::int64_t size, std::int64_t depth) {
  const std::int64_t divisor = std::int64_t{1}
                               << std::min(depth, kUNetMaxDepth);
  Require(
      size > 0 && size % divisor == 0,
      fmt::format("size {} cannot be halved {}", size, Counted(depth, "time")));
}

}  // namespace foretell::zoo
