#include "datasets/zoo/rms_norm.h"

#include <ATen/Functions.h>

#include "datasets/zoo/module_scope.h"
#include "src/program/fused_kernels.h"
#include "src/program/liger.h"

namespace foretell::zoo {
namespace {

constexpr double kRmsEpsilon = 1e-5;

}  // namespace

RmsNorm::RmsNorm(std::int64_t width)
    : weight_(register_parameter("weight", at::ones({width}))) {}

at::Tensor RmsNorm::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  if (FusedKernelScope::Takes(FusedKernel::kRmsNorm)) {
    return liger::RmsNorm(x, weight_);
  }
  at::Tensor y = x.to(at::kFloat);
  at::Tensor variance = at::pow(y, 2);
  variance = variance.mean(-1, /*keepdim=*/true);
  const at::Tensor scale = at::rsqrt(variance + kRmsEpsilon);
  y = y * scale;
  return weight_ * y.to(x.scalar_type());
}

}  // namespace foretell::zoo
