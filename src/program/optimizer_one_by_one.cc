// torch.optim with foreach=False: the functions _single_tensor_* of its files.

#include <ATen/ATen.h>

#include <cmath>

#include "src/program/optimizer_constants.h"
#include "src/program/optimizer_step.h"

namespace foretell {

using namespace optim;

void OptimizerStep::StepOneByOne(Tensors parameters, Tensors gradients) {
  // A variable of the loop in Python: what a step made lives until the next.
  at::Tensor divisor;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    switch (kind_) {
      case Optimizer::kSgd:
        parameters[i].add_(gradients[i], -kLearningRate);
        break;
      case Optimizer::kMomentum:
        MomentumOf(i, parameters, gradients);
        break;
      case Optimizer::kAdam:
      case Optimizer::kAdamW:
      case Optimizer::kAmsgrad:
      case Optimizer::kMuon:
        divisor = AdamOf(i, parameters, gradients);
        parameters[i].addcdiv_(
            momentum_[i], divisor,
            -kLearningRate / (1.0 - std::pow(kBeta1, num_steps_)));
        break;
      case Optimizer::kRmsProp:
        divisor = RmsPropOf(i, parameters, gradients);
        parameters[i].addcdiv_(gradients[i], divisor, -kLearningRate);
        break;
      case Optimizer::kAdagrad:
        divisor = AdagradOf(i, parameters, gradients);
        parameters[i].addcdiv_(gradients[i], divisor, -kLearningRate);
        break;
      default:  // Others have loops of their own.
        break;
    }
  }
}

void OptimizerStep::MomentumOf(std::size_t i, Tensors parameters,
                               Tensors gradients) {
  if (i == momentum_.size()) {
    momentum_.push_back(at::clone(gradients[i]));
  } else {
    momentum_[i].mul_(kMomentum).add_(gradients[i], 1.0);
  }
  parameters[i].add_(momentum_[i], -kLearningRate);
}

at::Tensor OptimizerStep::AdamOf(std::size_t i, Tensors parameters,
                                 Tensors gradients) {
  const double decay = WeightDecay(kind_);
  if (decay != 0.0) parameters[i].mul_(1.0 - kLearningRate * decay);
  momentum_[i].lerp_(gradients[i], 1.0 - kBeta1);
  variance_[i].mul_(kBeta2).addcmul_(gradients[i], gradients[i], 1.0 - kBeta2);
  const double correction = 1.0 - std::pow(kBeta2, num_steps_);
  if (!largest_.empty()) {
    at::maximum_out(largest_[i], largest_[i], variance_[i]);
  }
  at::Tensor root = at::sqrt(largest_.empty() ? variance_[i] : largest_[i]);
  at::Tensor quotient = at::div(root, std::sqrt(correction));
  root.reset();
  quotient.add_(kEpsilon);
  return quotient;
}

at::Tensor OptimizerStep::RmsPropOf(std::size_t i, Tensors /*parameters*/,
                                    Tensors gradients) {
  variance_[i].mul_(kRmsPropAlpha);
  variance_[i].addcmul_(gradients[i], gradients[i], 1.0 - kRmsPropAlpha);
  at::Tensor average = at::sqrt(variance_[i]);
  average.add_(kEpsilon);
  return average;
}

at::Tensor OptimizerStep::AdagradOf(std::size_t i, Tensors /*parameters*/,
                                    Tensors gradients) {
  variance_[i].addcmul_(gradients[i], gradients[i], 1.0);
  at::Tensor deviation = at::sqrt(variance_[i]);
  deviation.add_(kAdagradEpsilon);
  return deviation;
}

}  // namespace foretell
