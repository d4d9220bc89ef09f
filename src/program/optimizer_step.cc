#include "src/program/optimizer_step.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

namespace foretell {
namespace {

constexpr double kLearningRate = 1e-3;
constexpr double kMomentum = 0.9;
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;
constexpr double kAdamWDecay = 1e-2;
constexpr double kRmsPropAlpha = 0.99;
constexpr double kAdagradEpsilon = 1e-10;

std::vector<at::Tensor> ZerosLike(at::TensorList tensors) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& tensor : tensors) {
    zeros.push_back(at::zeros_like(tensor));
  }
  return zeros;
}

}  // namespace

OptimizerStep::OptimizerStep(Optimizer kind, std::vector<at::Tensor> parameters)
    : kind_(kind), parameters_(std::move(parameters)) {}

void OptimizerStep::Step() {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) continue;
    parameters.push_back(parameter);
    gradients.push_back(parameter.grad());
  }
  if (parameters.empty()) return;
  switch (kind_) {
    case Optimizer::kSgd:
      return Sgd(parameters, gradients);
    case Optimizer::kMomentum:
      return Momentum(parameters, gradients);
    case Optimizer::kAdam:
      return Adam(parameters, gradients, 0.0);
    case Optimizer::kAdamW:
      return Adam(parameters, gradients, kAdamWDecay);
    case Optimizer::kRmsProp:
      return RmsProp(parameters, gradients);
    case Optimizer::kAdagrad:
      return Adagrad(parameters, gradients);
  }
}

void OptimizerStep::ZeroGrad() {
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

void OptimizerStep::Sgd(at::TensorList parameters, at::TensorList gradients) {
  at::_foreach_add_(parameters, gradients, -kLearningRate);
}

void OptimizerStep::Momentum(at::TensorList parameters,
                             at::TensorList gradients) {
  if (momentum_.empty()) {
    for (const at::Tensor& gradient : gradients) {
      momentum_.push_back(at::clone(gradient));
    }
  } else {
    at::_foreach_mul_(momentum_, kMomentum);
    at::_foreach_add_(momentum_, gradients, 1.0);
  }
  at::_foreach_add_(parameters, momentum_, -kLearningRate);
}

void OptimizerStep::Adam(at::TensorList parameters, at::TensorList gradients,
                         double weight_decay) {
  if (momentum_.empty()) {
    momentum_ = ZerosLike(parameters);
    variance_ = ZerosLike(parameters);
  }
  ++num_steps_;
  const double correction1 = 1.0 - std::pow(kBeta1, num_steps_);
  const double correction2 = 1.0 - std::pow(kBeta2, num_steps_);
  if (weight_decay != 0.0) {
    at::_foreach_mul_(parameters, 1.0 - kLearningRate * weight_decay);
  }
  at::_foreach_lerp_(momentum_, gradients, 1.0 - kBeta1);
  at::_foreach_mul_(variance_, kBeta2);
  at::_foreach_addcmul_(variance_, gradients, gradients, 1.0 - kBeta2);
  std::vector<at::Tensor> denominator = at::_foreach_sqrt(variance_);
  at::_foreach_div_(denominator, std::sqrt(correction2));
  at::_foreach_add_(denominator, kEpsilon);
  at::_foreach_addcdiv_(parameters, momentum_, denominator,
                        -kLearningRate / correction1);
}

void OptimizerStep::RmsProp(at::TensorList parameters,
                            at::TensorList gradients) {
  if (variance_.empty()) variance_ = ZerosLike(parameters);
  at::_foreach_mul_(variance_, kRmsPropAlpha);
  at::_foreach_addcmul_(variance_, gradients, gradients, 1.0 - kRmsPropAlpha);
  std::vector<at::Tensor> average = at::_foreach_sqrt(variance_);
  at::_foreach_add_(average, kEpsilon);
  at::_foreach_addcdiv_(parameters, gradients, average, -kLearningRate);
}

void OptimizerStep::Adagrad(at::TensorList parameters,
                            at::TensorList gradients) {
  if (variance_.empty()) variance_ = ZerosLike(parameters);
  at::_foreach_addcmul_(variance_, gradients, gradients, 1.0);
  std::vector<at::Tensor> deviation = at::_foreach_sqrt(variance_);
  at::_foreach_add_(deviation, kAdagradEpsilon);
  const std::vector<at::Tensor> step =
      at::_foreach_mul(gradients, -kLearningRate);
  at::_foreach_addcdiv_(parameters, step, deviation, 1.0);
}

}  // namespace foretell
