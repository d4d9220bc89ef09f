#include "datasets/zoo/diffusion_blocks.h"

#include <ATen/Functions.h>
#include <fmt/core.h>

#include <cmath>

#include "datasets/zoo/family.h"
#include "datasets/zoo/layers.h"
#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

constexpr std::int64_t kDiffusionGroups = 32;
constexpr double kResidualEpsilon = 1e-5;
constexpr double kLongestPeriod = 10000;

}  // namespace

torch::nn::GroupNorm GroupsNorm(std::int64_t channels, double epsilon) {
  return torch::nn::GroupNorm(
      torch::nn::GroupNormOptions(kDiffusionGroups, channels).eps(epsilon));
}

at::Tensor TwiceTheEdges(const at::Tensor& x) {
  return at::upsample_nearest2d(x, {x.size(2) * 2, x.size(3) * 2});
}

at::Tensor NumberFeatures(const at::Tensor& numbers, std::int64_t width) {
  const std::int64_t half = width / 2;
  at::Tensor rates = at::arange(half, numbers.options().dtype(at::kFloat));
  rates = rates * (-std::log(kLongestPeriod) / static_cast<double>(half));
  rates = at::exp(rates);
  const at::Tensor angles =
      numbers.unsqueeze(1).to(at::kFloat) * rates.unsqueeze(0);
  return at::cat({at::cos(angles), at::sin(angles)}, -1);
}

void RequireEvenHeads(std::int64_t heads, std::int64_t head_width) {
  Require(heads > 0 && head_width > 0 && head_width % 2 == 0,
          fmt::format("heads={}, head_width={}: expected positive numbers, the "
                      "width even",
                      heads, head_width));
}

void RequireLevels(const std::vector<std::int64_t>& widths,
                   std::int64_t image_size) {
  Require(!widths.empty(), "widths must be positive");
  for (const std::int64_t width : widths) {
    Require(width > 0 && width % kDiffusionGroups == 0,
            fmt::format("widths: {} is not a multiple of {}", width,
                        kDiffusionGroups));
  }
  RequireMultiple(image_size, std::int64_t{1} << (widths.size() - 1));
}

DiffusionResidualBlock::DiffusionResidualBlock(std::int64_t in,
                                               std::int64_t out,
                                               std::int64_t time) {
  norm1_ = register_module("norm1", GroupsNorm(in, kResidualEpsilon));
  conv1_ =
      register_module("conv1", Conv({.in = in, .out = out, .kernel = 3}, true));
  if (time > 0) time_ = register_module("time_emb_proj", Dense(time, out));
  norm2_ = register_module("norm2", GroupsNorm(out, kResidualEpsilon));
  conv2_ = register_module("conv2",
                           Conv({.in = out, .out = out, .kernel = 3}, true));
  if (in == out) return;
  shortcut_ =
      register_module("conv_shortcut", Conv({.in = in, .out = out}, true));
}

at::Tensor DiffusionResidualBlock::forward(const at::Tensor& x,
                                           const at::Tensor& time) {
  const ModuleScope scope(*this);
  at::Tensor y = norm1_->forward(x);
  y = at::silu(y);
  y = conv1_->forward(y);
  if (time_) {
    at::Tensor shift = at::silu(time);
    shift = time_->forward(shift).unsqueeze(2).unsqueeze(3);
    y = y + shift;
  }
  y = norm2_->forward(y);
  y = at::silu(y);
  y = conv2_->forward(y);
  const at::Tensor direct = shortcut_ ? shortcut_->forward(x) : x;
  const at::Tensor sum = direct + y;
  return sum / 1.0;  // A factor of the reference code, which is always 1.
}

ConditionEmbedding::ConditionEmbedding(std::int64_t in, std::int64_t out,
                                       std::string_view activation, bool bias)
    : activation_(FindTokenActivation(activation)) {
  first_ = register_module("linear_1", Dense(in, out, bias));
  second_ = register_module("linear_2", Dense(out, out, bias));
}

at::Tensor ConditionEmbedding::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  at::Tensor y = first_->forward(x);
  y = activation_(y);
  return second_->forward(y);
}

}  // namespace foretell::zoo
