#include "datasets/zoo/token_norm.h"

#include <ATen/Functions.h>
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "datasets/zoo/family.h"
#include "datasets/zoo/module_scope.h"
#include "src/program/fused_kernels.h"
#include "src/program/liger.h"

namespace foretell::zoo {
namespace {

constexpr double kTokenNormEpsilon = 1e-5;

struct NamedNorm {
  std::string_view name;
  NormKind kind;
};

constexpr NamedNorm kNormKinds[] = {
    {"rms", NormKind::kRms},     {"olmo2", NormKind::kOlmo2},
    {"gemma", NormKind::kGemma}, {"layer", NormKind::kLayer},
    {"l2", NormKind::kL2},       {"layer1p", NormKind::kLayer1p},
    {"olmo", NormKind::kOlmo},   {"cohere", NormKind::kCohere},
};

}  // namespace

NormKind ParseNormKind(std::string_view name) {
  const auto* const found =
      std::ranges::find(kNormKinds, name, &NamedNorm::name);
  Require(found != std::end(kNormKinds),
          fmt::format("norm={}: expected rms, olmo2, gemma, l2, layer, "
                      "layer1p, olmo or cohere",
                      name));
  return found->kind;
}

TokenNorm::TokenNorm(NormKind kind, std::int64_t width) : kind_(kind) {
  if (kind == NormKind::kOlmo || kind == NormKind::kL2) return;
  const bool is_offset = kind == NormKind::kGemma || kind == NormKind::kLayer1p;
  weight_ = register_parameter(
      "weight", is_offset ? at::zeros({width}) : at::ones({width}));
  if (kind != NormKind::kLayer && kind != NormKind::kLayer1p) return;
  bias_ = register_parameter("bias", at::zeros({width}));
}

at::Tensor TokenNorm::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  switch (kind_) {
    case NormKind::kLayer:
    case NormKind::kLayer1p:
    case NormKind::kOlmo:
      return LayerNorm(x);
    case NormKind::kCohere:
      return Cohere(x);
    case NormKind::kFused:
      return at::rms_norm(x, {x.size(-1)}, weight_, kTokenNormEpsilon);
    case NormKind::kDiffusers:
      return ScaledByRoot(x);
    default:
      return RootMeanSquare(x);
  }
}

at::Tensor TokenNorm::LayerNorm(const at::Tensor& x) const {
  const std::int64_t width = x.size(-1);
  if (kind_ == NormKind::kOlmo) {
    const at::Tensor y = x.to(at::kFloat);
    return at::layer_norm(y, {width}, {}, {}, kTokenNormEpsilon)
        .to(x.scalar_type());
  }
  const bool is_offset = kind_ == NormKind::kLayer1p;
  const at::Tensor weight = is_offset ? weight_ + 1 : weight_;
  return at::layer_norm(x, {width}, weight, bias_, kTokenNormEpsilon);
}

at::Tensor TokenNorm::RootMeanSquare(const at::Tensor& x) const {
  if (kind_ != NormKind::kL2 &&
      FusedKernelScope::Takes(FusedKernel::kRmsNorm)) {
    return liger::RmsNorm(x, weight_);
  }
  at::Tensor y = x.to(at::kFloat);
  at::Tensor variance = at::pow(y, 2);
  variance = variance.mean(-1, /*keepdim=*/true);
  const at::Tensor scale = at::rsqrt(variance + kTokenNormEpsilon);
  y = y * scale;
  if (kind_ == NormKind::kRms) return weight_ * y.to(x.scalar_type());
  if (kind_ == NormKind::kL2) return y.to(x.scalar_type());
  if (kind_ == NormKind::kOlmo2) {
    y = weight_ * y;
    return y.to(x.scalar_type());
  }
  y = y * at::add(weight_.to(at::kFloat), 1.0);
  return y.to(x.scalar_type());
}

at::Tensor TokenNorm::Cohere(const at::Tensor& x) const {
  const at::Tensor states = x.to(at::kFloat);
  const at::Tensor mean = states.mean(-1, /*keepdim=*/true);
  at::Tensor variance = states - mean;
  variance = at::pow(variance, 2);
  variance = variance.mean(-1, /*keepdim=*/true);
  at::Tensor y = states - mean;
  y = y * at::rsqrt(variance + kTokenNormEpsilon);
  y = weight_.to(at::kFloat) * y;
  return y.to(x.scalar_type());
}

at::Tensor TokenNorm::ScaledByRoot(const at::Tensor& x) const {
  at::Tensor variance = at::pow(x.to(at::kFloat), 2);
  variance = variance.mean(-1, /*keepdim=*/true);
  at::Tensor y = x * at::rsqrt(variance + kTokenNormEpsilon);
  y = y.to(weight_.scalar_type());
  return y * weight_;
}

}  // namespace foretell::zoo
