#include "src/measure/measured_step.h"

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>

#include "src/program/training_loss.h"

namespace foretell::measure {
namespace {

/// Integers stay below the size of any vocabulary or number of classes.
constexpr std::int64_t kIntegerInputs = 2;

at::Tensor MakeInput(const TensorType& type, Precision precision,
                     c10::Device device) {
  const at::ScalarType scalar = ToScalarType(type.dtype, precision);
  const auto options = at::TensorOptions().dtype(scalar).device(device);
  if (at::isFloatingType(scalar)) return at::randn(type.shape, options);
  return at::randint(0, kIntegerInputs, type.shape, options);
}

std::vector<at::Tensor> TrainableTensors(const ProgramInstance& instance) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& parameter : instance.Parameters()) {
    if (parameter.tensor.requires_grad()) tensors.push_back(parameter.tensor);
  }
  return tensors;
}

}  // namespace

MeasuredStep::MeasuredStep(const Program& program,
                           const std::vector<BoundInput>& inputs,
                           const MeasureRequest& request, c10::Device device)
    : mode_(request.mode),
      instance_(program.Instantiate({.device = device,
                                     .precision = request.precision,
                                     .mode = request.mode,
                                     .seed = request.seed})) {
  for (const BoundInput& input : inputs) {
    inputs_.push_back(MakeInput(input.type, request.precision, device));
  }
  if (mode_ == Mode::kTraining) {
    optimizer_.emplace(request.optimizer, TrainableTensors(*instance_));
  }
}

void MeasuredStep::Run() {
  if (mode_ == Mode::kInference) {
    Infer();
  } else {
    Train();
  }
}

void MeasuredStep::Infer() {
  const c10::InferenceMode inference;
  instance_->Forward(inputs_);
}

void MeasuredStep::Train() {
  optimizer_->ZeroGrad();
  const std::vector<at::Tensor> outputs = instance_->Forward(inputs_);
  at::Tensor loss = ScalarLoss(outputs);
  if (loss.requires_grad()) loss.backward();
  loss.reset();
  optimizer_->Step();
}

}  // namespace foretell::measure
