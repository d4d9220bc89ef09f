#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <memory>
#include <optional>
#include <vector>

#include "foretell/measure.h"
#include "foretell/program.h"
#include "src/program/optimizer_step.h"

namespace foretell::measure {

/// The timed step: one forward pass, or one training step as TraceProgram
/// traces it (zero gradients, forward, scalar loss, backward, optimizer). Both
/// on random inputs that stay on the device, with random weights.
class MeasuredStep {
 public:
  /// Puts the program and its inputs onto `device`.
  MeasuredStep(const Program& program, const std::vector<BoundInput>& inputs,
               const MeasureRequest& request, c10::Device device);

  /// Submits one step to the device; does not wait for it.
  void Run();

 private:
  void Infer();
  void Train();
  /// Runs on copies of the inputs' handles, under autocast if requested.
  std::vector<at::Tensor> Forward();

  Mode mode_;
  c10::DeviceType device_type_;
  bool autocast_;
  bool grad_mode_;
  std::unique_ptr<ProgramInstance> instance_;
  std::vector<at::Tensor> inputs_;
  std::optional<OptimizerStep> optimizer_;
};

}  // namespace foretell::measure
