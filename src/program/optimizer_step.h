#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "foretell/trace.h"

namespace foretell {

/// One optimizer over a fixed list of parameters, with PyTorch's default
/// hyper-parameters and its `foreach` implementation, which is what
/// torch.optim runs on CUDA tensors unless told otherwise
/// (torch/optim/{sgd,adam,adamw}.py, 2.13): whole-list operators and, for Adam,
/// a temporary as large as all parameters.
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

  Optimizer kind_;
  std::vector<at::Tensor> parameters_;
  int num_steps_ = 0;                 ///< Steps that Adam has made.
  std::vector<at::Tensor> momentum_;  ///< exp_avg of Adam.
  std::vector<at::Tensor> variance_;  ///< exp_avg_sq of Adam.
};

}  // namespace foretell
