#pragma once

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "datasets/zoo/network.h"

namespace foretell::zoo {

/// A square 2-D convolution's shape; padding keeps the size at stride 1 unless
/// it is given.
struct ConvShape {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  std::int64_t dilation = 1;
  std::optional<std::int64_t> padding;
};

torch::nn::Conv2d Conv(const ConvShape& shape, bool bias);

/// Adds a convolution without bias, a batch norm and, unless it is empty, an
/// activation: the unit of most convolutional networks.
void AddConvNorm(Chain& chain, const ConvShape& shape,
                 std::string_view activation, double norm_epsilon = 1e-5);

/// Adds the activation `name`: relu, relu6, silu, gelu, hardswish, hardsigmoid,
/// sigmoid, tanh, leaky_relu; throws Error(kInvalidArgument) for another.
/// Those with an in-place form in the reference implementations (relu, relu6,
/// silu, hardswish, hardsigmoid) work in place.
void AddActivation(Chain& chain, std::string_view name);

/// End of a ResNet block: adds `x`, mapped by `downsample` unless that is
/// empty, to the result of the branch and applies a ReLU, both in place.
at::Tensor ResidualRelu(Chain& branch, Chain& downsample, const at::Tensor& x);

/// `value` rounded to a multiple of `divisor`, at least `divisor` and not below
/// 90 % of `value`: the rule of the MobileNet papers' code.
std::int64_t RoundChannels(double value, std::int64_t divisor = 8);

}  // namespace foretell::zoo
