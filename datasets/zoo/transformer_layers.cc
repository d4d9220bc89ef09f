#include "datasets/zoo/transformer_layers.h"

#include <fmt/core.h>

#include "datasets/zoo/family.h"
#include "datasets/zoo/layers.h"

namespace foretell::zoo {

DenseImpl::DenseImpl(std::int64_t in, std::int64_t out, bool has_bias)
    : LinearImpl(torch::nn::LinearOptions(in, out).bias(has_bias)) {}

at::Tensor DenseImpl::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  return at::linear(x, weight, bias);
}

at::Tensor DropPathImpl::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  if (rate_ == 0 || !is_training()) return x;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape.front() = x.size(0);
  at::Tensor kept = x.new_empty(shape).bernoulli_(1 - rate_);
  if (rate_ < 1) kept.div_(1 - rate_);
  return x * kept;
}

std::vector<double> DropPathRates(std::int64_t count, double last) {
  std::vector<double> rates;
  for (std::int64_t i = 0; i < count; ++i) {
    rates.push_back(count == 1 ? 0
                               : last * static_cast<double>(i) /
                                     static_cast<double>(count - 1));
  }
  return rates;
}

torch::nn::LayerNorm Norm(std::int64_t width, double epsilon) {
  return torch::nn::LayerNorm(
      torch::nn::LayerNormOptions({width}).eps(epsilon));
}

Chain FeedForward(std::int64_t width, std::int64_t inner,
                  std::string_view activation) {
  Chain chain;
  chain->Add(Dense(width, inner));
  AddActivation(chain, activation);
  chain->Add(Dense(inner, width));
  return chain;
}

at::Tensor SplitHeads(const at::Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

at::Tensor MergeHeads(const at::Tensor& x) {
  const at::Tensor y = x.transpose(1, 2).contiguous();
  return y.view({y.size(0), y.size(1), -1});
}

void RequireHeads(std::int64_t width, std::int64_t heads) {
  Require(width > 0 && heads > 0 && width % heads == 0,
          fmt::format("width {} is not a multiple of heads={}", width, heads));
}

void RequirePositions(std::int64_t seq, std::int64_t positions) {
  Require(seq > 0 && seq <= positions,
          fmt::format("seq={}: expected 1 to positions={}", seq, positions));
}

void RequireMultiple(std::int64_t image_size, std::int64_t unit) {
  Require(unit > 0 && image_size > 0 && image_size % unit == 0,
          fmt::format("image_size={}: expected a multiple of {}", image_size,
                      unit));
}

}  // namespace foretell::zoo
