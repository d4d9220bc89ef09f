#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "foretell/trace.h"

namespace foretell {

/// One optimizer over a fixed list of parameters, with PyTorch's default
/// hyper-parameters and its `foreach` implementation, which is what
/// torch.optim runs on CUDA tensors unless told otherwise
/// (torch/optim/{sgd,adam,adamw,rmsprop,adagrad}.py, 2.13): whole-list
/// operators and, for Adam and RMSprop, a temporary as large as all parameters;
/// Adagrad has two of them.
class OptimizerStep {
 public:
  OptimizerStep(Optimizer kind, std::vector<at::Tensor> parameters);

  /// Applies the parameters' gradients; those without one are left alone. State
  /// is made in the first call.
  void Step();
  /// Drops all gradients (`set_to_none=True`).
  void ZeroGrad();

 private:
  void Sgd(at::TensorList parameters, at::TensorList gradients);
  void Momentum(at::TensorList parameters, at::TensorList gradients);
  void Adam(at::TensorList parameters, at::TensorList gradients,
            double weight_decay);
  void RmsProp(at::TensorList parameters, at::TensorList gradients);
  void Adagrad(at::TensorList parameters, at::TensorList gradients);

  Optimizer kind_;
  std::vector<at::Tensor> parameters_;
  int num_steps_ = 0;                 ///< Steps that Adam has made.
  std::vector<at::Tensor> momentum_;  ///< exp_avg of Adam.
  /// exp_avg_sq of Adam, square_avg of RMSprop, sum of Adagrad.
  std::vector<at::Tensor> variance_;
};

}  // namespace foretell
