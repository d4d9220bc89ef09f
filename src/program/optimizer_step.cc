#include "src/program/optimizer_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "src/core/failure.h"
#include "src/program/optimizer_constants.h"

namespace foretell {
namespace {

using namespace optim;

std::vector<at::Tensor> ZerosLike(at::TensorList tensors) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& tensor : tensors) {
    zeros.push_back(at::zeros_like(tensor));
  }
  return zeros;
}

}  // namespace

OptimizerStep::OptimizerStep(Optimizer kind, std::vector<at::Tensor> parameters,
                             StepCode code, TorchVersion torch)
    : kind_(kind),
      code_(code),
      torch_(torch),
      parameters_(std::move(parameters)) {
  if (HasForeignKernels(kind)) foreign_.emplace(kind);
  if (code != StepCode::kFused || HasFusedStep(kind)) return;
  throw InvalidArgument("optimizer {}: PyTorch has no fused step of it",
                        OptimizerName(kind));
}

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
  ++num_steps_;
  if (foreign_) return foreign_->Step(parameters, gradients, tables_);
  if (kind_ == Optimizer::kAdafactor) {
    return StepAdafactor(parameters, gradients);
  }
  if (kind_ == Optimizer::kHfAdafactor) {
    return StepHfAdafactor(parameters, gradients);
  }
  if (kind_ == Optimizer::kMuon) return StepMuon(parameters, gradients);
  StepTorch(parameters, gradients);
}

void OptimizerStep::StepTorch(Tensors parameters, Tensors gradients) {
  MakeState(parameters);
  switch (code_) {
    case StepCode::kLists:
      return StepLists(parameters, gradients);
    case StepCode::kOneByOne:
      return StepOneByOne(parameters, gradients);
    case StepCode::kFused:
      return StepFused(parameters, gradients);
  }
}

void OptimizerStep::MakeState(Tensors parameters) {
  const bool is_adam =
      kind_ == Optimizer::kAdam || kind_ == Optimizer::kAdamW ||
      kind_ == Optimizer::kAmsgrad || kind_ == Optimizer::kMuon;
  const bool has_variance =
      is_adam || kind_ == Optimizer::kRmsProp || kind_ == Optimizer::kAdagrad;
  const bool has_largest = kind_ == Optimizer::kAmsgrad;
  if (is_adam && momentum_.empty()) momentum_ = ZerosLike(parameters);
  if (has_variance && variance_.empty()) variance_ = ZerosLike(parameters);
  if (has_largest && largest_.empty()) largest_ = ZerosLike(parameters);
}

void OptimizerStep::StepLists(Tensors parameters, Tensors gradients) {
  switch (kind_) {
    case Optimizer::kSgd:
      return Sgd(parameters, gradients);
    case Optimizer::kMomentum:
      return Momentum(parameters, gradients);
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
    case Optimizer::kAmsgrad:
    case Optimizer::kMuon:
      return Adam(parameters, gradients);
    case Optimizer::kRmsProp:
      return RmsProp(parameters, gradients);
    case Optimizer::kAdagrad:
      return Adagrad(parameters, gradients);
    default:  // Others have no lists.
      return;
  }
}

void OptimizerStep::ZeroGrad() {
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

void OptimizerStep::FillGradWithZeros() {
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : parameters_) {
    if (parameter.grad().defined()) parameter.mutable_grad().zero_();
  }
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

void OptimizerStep::Adam(at::TensorList parameters, at::TensorList gradients) {
  const double weight_decay = WeightDecay(kind_);
  const double correction1 = 1.0 - std::pow(kBeta1, num_steps_);
  const double correction2 = 1.0 - std::pow(kBeta2, num_steps_);
  if (weight_decay != 0.0) {
    at::_foreach_mul_(parameters, 1.0 - kLearningRate * weight_decay);
  }
  at::_foreach_lerp_(momentum_, gradients, 1.0 - kBeta1);
  at::_foreach_mul_(variance_, kBeta2);
  at::_foreach_addcmul_(variance_, gradients, gradients, 1.0 - kBeta2);
  const bool has_largest = !largest_.empty();
  if (has_largest) at::_foreach_maximum_(largest_, variance_);
  std::vector<at::Tensor> denominator =
      at::_foreach_sqrt(has_largest ? largest_ : variance_);
  at::_foreach_div_(denominator, std::sqrt(correction2));
  // PyTorch 2.0 names both until it returns. So did 1.x, but there the lists,
  // which are TrainingLoop's default, had to be asked for.
  std::vector<at::Tensor> root;
  if (torch_ >= kListsByDefault && torch_ < kLeanAdam) {
    root = std::exchange(denominator, at::_foreach_add(denominator, kEpsilon));
  } else {
    at::_foreach_add_(denominator, kEpsilon);
  }
  at::_foreach_addcdiv_(parameters, momentum_, denominator,
                        -kLearningRate / correction1);
}

void OptimizerStep::RmsProp(at::TensorList parameters,
                            at::TensorList gradients) {
  at::_foreach_mul_(variance_, kRmsPropAlpha);
  at::_foreach_addcmul_(variance_, gradients, gradients, 1.0 - kRmsPropAlpha);
  std::vector<at::Tensor> average = at::_foreach_sqrt(variance_);
  at::_foreach_add_(average, kEpsilon);
  at::_foreach_addcdiv_(parameters, gradients, average, -kLearningRate);
}

void OptimizerStep::Adagrad(at::TensorList parameters,
                            at::TensorList gradients) {
  at::_foreach_addcmul_(variance_, gradients, gradients, 1.0);
  std::vector<at::Tensor> deviation = at::_foreach_sqrt(variance_);
  at::_foreach_add_(deviation, kAdagradEpsilon);
  const std::vector<at::Tensor> step =
      at::_foreach_mul(gradients, -kLearningRate);
  at::_foreach_addcdiv_(parameters, step, deviation, 1.0);
}

}  // namespace foretell
