// torch.optim with fused=True: the functions _fused_* of its files.

#include <ATen/ATen.h>

#include "src/program/optimizer_constants.h"
#include "src/program/optimizer_step.h"

namespace foretell {

using namespace optim;

namespace {

std::vector<at::Tensor> EmptyLike(at::TensorList tensors) {
  std::vector<at::Tensor> empty;
  for (const at::Tensor& tensor : tensors) {
    empty.push_back(at::empty_like(tensor));
  }
  return empty;
}

/// A number in f32 for each, on its device.
std::vector<at::Tensor> CountsFor(at::TensorList tensors) {
  std::vector<at::Tensor> counts;
  for (const at::Tensor& tensor : tensors) {
    counts.push_back(at::zeros({}, tensor.options().dtype(at::kFloat)));
  }
  return counts;
}

}  // namespace

void OptimizerStep::StepFused(Tensors parameters, Tensors gradients) {
  const bool is_sgd = kind_ == Optimizer::kSgd || kind_ == Optimizer::kMomentum;
  if (is_sgd) {
    const bool has_momentum = kind_ == Optimizer::kMomentum;
    const bool is_first = has_momentum && momentum_.empty();
    if (is_first) momentum_ = EmptyLike(gradients);
    return at::_fused_sgd_(parameters, gradients, momentum_,
                           /*weight_decay=*/0, has_momentum ? kMomentum : 0,
                           kLearningRate, /*dampening=*/0, /*nesterov=*/false,
                           /*maximize=*/false, is_first);
  }
  if (counts_.empty()) counts_ = CountsFor(parameters);
  at::_foreach_add_(counts_, 1);
  if (kind_ == Optimizer::kAdagrad) {
    return at::_fused_adagrad_(parameters, gradients, variance_, counts_,
                               kLearningRate, /*lr_decay=*/0,
                               /*weight_decay=*/0, kAdagradEpsilon,
                               /*maximize=*/false);
  }
  if (kind_ == Optimizer::kAdam) {
    return at::_fused_adam_(parameters, gradients, momentum_, variance_, {},
                            counts_, kLearningRate, kBeta1, kBeta2,
                            WeightDecay(kind_), kEpsilon, /*amsgrad=*/false,
                            /*maximize=*/false);
  }
  at::_fused_adamw_(parameters, gradients, momentum_, variance_, largest_,
                    counts_, kLearningRate, kBeta1, kBeta2, WeightDecay(kind_),
                    kEpsilon, /*amsgrad=*/!largest_.empty(),
                    /*maximize=*/false);
}

}  // namespace foretell
