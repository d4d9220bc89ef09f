#include "datasets/zoo/token_norm.h"

#include <ATen/Functions.h>
#include <fmt/core.h>

#include "datasets/zoo/family.h"
#include "datasets/zoo/module_scope.h"
#include "src/program/fused_kernels.h"
#include "src/program/liger.h"

namespace foretell::zoo {
namespace {

constexpr double kTokenNormEpsilon = 1e-5;

}  // namespace

NormKind ParseNormKind(std::string_view name) {
  if (name == "rms") return NormKind::kRms;
  if (name == "gemma") return NormKind::kGemma;
  Require(name == "layer",
          fmt::format("norm={}: expected rms, gemma or layer", name));
  return NormKind::kLayer;
}

TokenNorm::TokenNorm(NormKind kind, std::int64_t width)
    : kind_(kind),
      weight_(register_parameter("weight", kind == NormKind::kGemma
                                               ? at::zeros({width})
                                               : at::ones({width}))) {
  if (kind != NormKind::kLayer) return;
  bias_ = register_parameter("bias", at::zeros({width}));
}

at::Tensor TokenNorm::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  if (kind_ == NormKind::kLayer) {
    return at::layer_norm(x, {x.size(-1)}, weight_, bias_, kTokenNormEpsilon);
  }
  if (kind_ == NormKind::kFused) {
    return at::rms_norm(x, {x.size(-1)}, weight_, kTokenNormEpsilon);
  }
  if (kind_ == NormKind::kDiffusers) return ScaledByRoot(x);
  if (FusedKernelScope::Takes(FusedKernel::kRmsNorm)) {
    return liger::RmsNorm(x, weight_);
  }
  at::Tensor y = x.to(at::kFloat);
  at::Tensor variance = at::pow(y, 2);
  variance = variance.mean(-1, /*keepdim=*/true);
  const at::Tensor scale = at::rsqrt(variance + kTokenNormEpsilon);
  y = y * scale;
  if (kind_ == NormKind::kRms) return weight_ * y.to(x.scalar_type());
  y = y * at::add(weight_.to(at::kFloat), 1.0);
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
