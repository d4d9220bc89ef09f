#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "foretell/trace.h"
#include "src/program/foreign_step.h"

namespace foretell {

/// The implementations that torch.optim has of a step.
enum class StepCode : std::uint8_t {
  /// Operators on whole lists, which is torch.optim's default on CUDA tensors:
  /// a temporary as large as all parameters for Adam and RMSprop, two for
  /// Adagrad, and for Adam of PyTorch 2.0. Adafactor's default is to run over
  /// one parameter at a time, and it does so here too, as does Muon.
  kLists,
  /// One parameter at a time; the last temporary lives until the next one
  /// replaces it, as the variable in Python does.
  kOneByOne,
  /// One operator without temporaries. Adam's and Adagrad's counts of steps lie
  /// on the device, a number for each parameter.
  kFused,
};

/// What Adafactor keeps of one parameter: `row` [..., rows, 1] and `column`
/// [..., 1, columns] of a matrix, `variance` of a vector. transformers' lacks
/// the dimensions of 1.
struct AdafactorState {
  at::Tensor row;
  at::Tensor column;
  at::Tensor variance;
};

/// One optimizer over a fixed list of parameters, with PyTorch's default
/// hyper-parameters
/// (torch/optim/{sgd,adam,adamw,rmsprop,adagrad,_adafactor,_muon}.py, 2.13; of
/// older versions Adam's lists alone differ); Adafactor of transformers 5.24,
/// optimization.py, with its Trainer's; others as ForeignStep.
class OptimizerStep {
 public:
  /// Throws Error(kInvalidArgument) for a fused step that torch.optim lacks.
  OptimizerStep(Optimizer kind, std::vector<at::Tensor> parameters,
                StepCode code = StepCode::kLists, TorchVersion torch = {});

  /// States the weights of embeddings, as EmbeddingWeights finds them.
  void SetTables(std::vector<at::Tensor> tables) {
    tables_ = std::move(tables);
  }
  /// Applies the parameters' gradients; those without one are left alone. State
  /// is made in the first call.
  void Step();
  /// Drops all gradients (`set_to_none=True`).
  void ZeroGrad();
  /// Fills all gradients with zeros (`set_to_none=False`), each by a call of
  /// its own, as torch.optim does unless foreach is asked for by name.
  void FillGradWithZeros();
  /// As ForeignStep.
  std::int64_t paged_bytes() const {
    return foreign_ ? foreign_->paged_bytes() : 0;
  }

 private:
  using Tensors = at::TensorList;

  /// By `code_`.
  void StepTorch(Tensors parameters, Tensors gradients);
  void StepLists(Tensors parameters, Tensors gradients);
  void StepOneByOne(Tensors parameters, Tensors gradients);
  void StepFused(Tensors parameters, Tensors gradients);
  void StepAdafactor(Tensors parameters, Tensors gradients);
  void StepHfAdafactor(Tensors parameters, Tensors gradients);
  void StepMuon(Tensors parameters, Tensors gradients);
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
  StepCode code_;
  TorchVersion torch_;
  std::vector<at::Tensor> parameters_;
  int num_steps_ = 0;                 ///< Steps that were made.
  std::vector<at::Tensor> tables_;    ///< Weights of embeddings.
  std::vector<at::Tensor> momentum_;  ///< exp_avg of Adam.
  /// exp_avg_sq of Adam, square_avg of RMSprop, sum of Adagrad.
  std::vector<at::Tensor> variance_;
  std::vector<at::Tensor> largest_;      ///< max_exp_avg_sq of amsgrad.
  std::vector<at::Tensor> orthogonal_;   ///< momentum_buffer of Muon.
  std::vector<at::Tensor> counts_;       ///< Of the steps, fused alone.
  std::vector<AdafactorState> factors_;  ///< One per parameter.
  std::optional<ForeignStep> foreign_;   ///< For HasForeignKernels.
};

}  // namespace foretell
