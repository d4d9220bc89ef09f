#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "foretell/run.h"
#include "foretell/training_loop.h"

namespace foretell {

/// The part of an optimizer that runs on the host, as torchao's
/// CPUOffloadOptimizer (optim/cpu_offload.py at 173b31e) has it: a copy of each
/// parameter, its gradient and its states lie there. The operators that it
/// records compute nothing.
class OffloadedStep {
 public:
  /// Throws Error(kInvalidArgument) for a loop or an optimizer that cannot run
  /// so.
  OffloadedStep(const TrainingLoop& loop, Optimizer optimizer);

  /// Takes those of `parameters` that go to the host: at least 4,096 elements.
  /// The others stay in the list.
  void Take(std::vector<at::Tensor>& parameters);
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  /// Records the copy of the gradient to the host, and drops the gradient if
  /// the loop states so.
  void SendGradient(const at::Tensor& parameter);
  /// Records the steps of all parameters whose gradients were sent, and their
  /// copies back.
  void Step();
  /// Drops all gradients.
  void ZeroGrad();

 private:
  bool drops_gradients_;
  std::int64_t states_;  ///< Per element.
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> sent_;
};

}  // namespace foretell
