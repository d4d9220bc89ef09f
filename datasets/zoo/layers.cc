#include "datasets/zoo/layers.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/silu.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "datasets/zoo/family.h"

namespace foretell::zoo {
namespace {

/// Activations that torch::nn has only out of place.
struct InPlaceSilu : torch::nn::Module {
  at::Tensor forward(at::Tensor x) { return at::silu_(x); }
};
struct InPlaceHardswish : torch::nn::Module {
  at::Tensor forward(at::Tensor x) { return at::hardswish_(x); }
};
struct InPlaceHardsigmoid : torch::nn::Module {
  at::Tensor forward(at::Tensor x) { return at::hardsigmoid_(x); }
};

using AddTo = void (*)(Chain&);

constexpr std::array<std::pair<std::string_view, AddTo>, 9> kActivations = {{
    {"relu",
     [](Chain& chain) {
       chain->Add(torch::nn::ReLU(torch::nn::ReLUOptions().inplace(true)));
     }},
    {"relu6",
     [](Chain& chain) {
       chain->Add(torch::nn::ReLU6(torch::nn::ReLU6Options().inplace(true)));
     }},
    {"silu", [](Chain& chain) { chain->Add(std::make_shared<InPlaceSilu>()); }},
    {"gelu", [](Chain& chain) { chain->Add(torch::nn::GELU()); }},
    {"hardswish",
     [](Chain& chain) { chain->Add(std::make_shared<InPlaceHardswish>()); }},
    {"hardsigmoid",
     [](Chain& chain) { chain->Add(std::make_shared<InPlaceHardsigmoid>()); }},
    {"sigmoid", [](Chain& chain) { chain->Add(torch::nn::Sigmoid()); }},
    {"tanh", [](Chain& chain) { chain->Add(torch::nn::Tanh()); }},
    {"leaky_relu", [](Chain& chain) { chain->Add(torch::nn::LeakyReLU()); }},
}};

}  // namespace

NamedLoss CrossEntropyOfTokens(const at::Tensor& logits,
                               const at::Tensor& tokens, bool upcasts) {
  const std::int64_t classes = logits.size(-1);
  const at::Tensor scores =
      (upcasts ? logits.to(at::kFloat) : logits).view({-1, classes});
  return {fmt::format("cross entropy over {} classes", classes),
          at::cross_entropy_loss(scores, tokens.reshape({-1}))};
}

torch::nn::Conv2d Conv(const ConvShape& shape, bool bias) {
  Require(
      shape.in > 0 && shape.out > 0 && shape.groups > 0 &&
          shape.in % shape.groups == 0 && shape.out % shape.groups == 0,
      fmt::format("a convolution from {} to {} channels cannot have {} groups",
                  shape.in, shape.out, shape.groups));
  const std::int64_t padding =
      shape.padding.value_or(shape.dilation * (shape.kernel - 1) / 2);
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(shape.in, shape.out, shape.kernel)
          .stride(shape.stride)
          .padding(padding)
          .dilation(shape.dilation)
          .groups(shape.groups)
          .bias(bias));
}

void AddConvNorm(Chain& chain, const ConvShape& shape,
                 std::string_view activation, double norm_epsilon) {
  chain->Add(Conv(shape, /*bias=*/false));
  chain->Add(torch::nn::BatchNorm2d(
      torch::nn::BatchNorm2dOptions(shape.out).eps(norm_epsilon)));
  if (!activation.empty()) AddActivation(chain, activation);
}

void AddActivation(Chain& chain, std::string_view name) {
  for (const auto& [known, add] : kActivations) {
    if (known == name) return add(chain);
  }
  Require(false, fmt::format("activation '{}', expected one of {}", name,
                             fmt::join(kActivations | std::views::keys, ", ")));
}

at::Tensor ResidualRelu(Chain& branch, Chain& downsample, const at::Tensor& x) {
  at::Tensor y = branch->forward(x);
  const at::Tensor identity =
      downsample->is_empty() ? x : downsample->forward(x);
  y += identity;
  return at::relu_(y);
}

std::int64_t RoundChannels(double value, std::int64_t divisor) {
  const auto half = static_cast<double>(divisor) / 2;
  const std::int64_t rounded = std::max(
      divisor, static_cast<std::int64_t>(value + half) / divisor * divisor);
  return static_cast<double>(rounded) < 0.9 * value ? rounded + divisor
                                                    : rounded;
}

}  // namespace foretell::zoo
