#include "datasets/zoo/mobile_blocks.h"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

#include "datasets/zoo/module_scope.h"

namespace foretell::zoo {
namespace {

using AddConvolution = void (*)(Chain&, const ConvShape&, std::string_view,
                                double);

}  // namespace

void AddConvNormUnit(Chain& chain, const ConvShape& shape,
                     std::string_view activation, double norm_epsilon) {
  Chain unit;
  AddConvNorm(unit, shape, activation, norm_epsilon);
  chain->Add(unit);
}

SqueezeExcitation::SqueezeExcitation(const SqueezeShape& shape)
    : shape_(shape),
      reduce_(Conv({.in = shape.channels, .out = shape.squeezed}, true)),
      expand_(Conv({.in = shape.squeezed, .out = shape.channels}, true)) {
  register_module("reduce", reduce_);
  register_module("expand", expand_);
}

at::Tensor SqueezeExcitation::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  at::Tensor scale = at::adaptive_avg_pool2d(x, {1, 1});
  scale = reduce_->forward(scale);
  scale = shape_.uses_silu ? at::silu_(scale) : at::relu(scale);
  scale = expand_->forward(scale);
  scale = shape_.has_hard_gate ? at::hardsigmoid(scale) : at::sigmoid(scale);
  return scale * x;
}

InvertedResidual::InvertedResidual(const InvertedResidualShape& shape)
    : has_identity_(shape.stride == 1 && shape.in == shape.out),
      adds_in_place_(shape.style.adds_in_place),
      stochastic_depth_(
          std::make_shared<StochasticDepth>(shape.stochastic_depth)) {
  const AddConvolution add =
      shape.style.nests_units ? &AddConvNormUnit : &AddConvNorm;
  if (shape.hidden != shape.in) {
    add(branch_, {.in = shape.in, .out = shape.hidden}, shape.activation,
        shape.norm_epsilon);
  }
  add(branch_,
      {.in = shape.hidden,
       .out = shape.hidden,
       .kernel = shape.kernel,
       .stride = shape.stride,
       .groups = shape.hidden},
      shape.activation, shape.norm_epsilon);
  if (shape.squeeze) {
    branch_->Add(std::make_shared<SqueezeExcitation>(*shape.squeeze));
  }
  const AddConvolution project =
      shape.style.nests_projection ? &AddConvNormUnit : &AddConvNorm;
  project(branch_, {.in = shape.hidden, .out = shape.out}, "",
          shape.norm_epsilon);
  register_module("branch", branch_);
  register_module("stochastic_depth", stochastic_depth_);
}

at::Tensor InvertedResidual::forward(const at::Tensor& x) {
  const ModuleScope scope(*this);
  at::Tensor y = branch_->forward(x);
  if (!has_identity_) return y;
  y = stochastic_depth_->forward(y);
  if (!adds_in_place_) return x + y;
  y += x;
  return y;
}

}  // namespace foretell::zoo
