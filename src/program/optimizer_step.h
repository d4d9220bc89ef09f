#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "foretell/trace.h"

namespace foretell {

/// One optimizer over a fixed list of parameters, with PyTorch's default
/// hyper-parameters (torch/optim/{sgd,adam,adamw,rmsprop,adagrad}.py, 2.13).
///
/// Its `foreach` implementation is what torch.optim runs on CUDA tensors unless
/// told otherwise: whole-list operators and, for Adam and RMSprop, a temporary
/// as large as all parameters; Adagrad has two of them. The other one takes one
/// parameter at a time; its last temporary lives until the next one replaces
/// it, as the variable in Python does.
class OptimizerStep {
 public:
  OptimizerStep(Optimizer kind, std::vector<at::Tensor> parameters,
                bool foreach = true);

  /// Applies the parameters' gradients; those without one are left alone. State
  /// is made in the first call.
  void Step();
  /// Drops all gradients (`set_to_none=True`).
  void ZeroGrad();
  /// Fills all gradients with zeros (`set_to_none=False`), each by a call of
  /// its own, as torch.optim does unless foreach is asked for by name.
  void FillGradWithZeros();

 private:
  using Tensors = at::TensorList;

  void StepLists(Tensors parameters, Tensors gradients);
  void StepOneByOne(Tensors parameters, Tensors gradients);
  /// Makes the state that the optimizer has before its first step.
  void MakeState(Tensors parameters);
  void Sgd(at::TensorList parameters, at::TensorList gradients);
  void Momentum(at::TensorList parameters, at::TensorList gradients);
  void Adam(at::TensorList parameters, at::TensorList gradients);
  void RmsProp(at::TensorList parameters, at::TensorList gradients);
  void Adagrad(at::TensorList parameters, at::TensorList gradients);
  void MomentumOf(std::size_t i, Tensors parameters, Tensors gradients);
  /// What the parameter's step is divided by.
  at::Tensor AdamOf(std::size_t i, Tensors parameters, Tensors gradients);
  at::Tensor RmsPropOf(std::size_t i, Tensors parameters, Tensors gradients);
  at::Tensor AdagradOf(std::size_t i, Tensors parameters, Tensors gradients);

  Optimizer kind_;
  bool foreach_;
  std::vector<at::Tensor> parameters_;
  int num_steps_ = 0;                 ///< Steps that Adam has made.
  std::vector<at::Tensor> momentum_;  ///< exp_avg of Adam.
  /// exp_avg_sq of Adam, square_avg of RMSprop, sum of Adagrad.
  std::vector<at::Tensor> variance_;
};

}  // namespace foretell
