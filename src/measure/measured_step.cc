#include "src/measure/measured_step.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>

#include "src/core/failure.h"
#include "src/program/channels_last.h"
#include "src/program/embedding_weights.h"
#include "src/program/grad_mode.h"
#include "src/program/training_loss.h"

namespace foretell::measure {
namespace {

/// Integers stay below the size of any vocabulary or number of classes.
constexpr std::int64_t kIntegerInputs = 2;

at::Tensor MakeInput(const BoundInput& input, Precision precision,
                     c10::Device device) {
  if (!input.values.empty()) return GivenTensor(input);
  const TensorType& type = input.type;
  const at::ScalarType scalar = ToScalarType(type.dtype, precision);
  const auto options = at::TensorOptions().dtype(scalar).device(device);
  if (at::isFloatingType(scalar)) return at::randn(type.shape, options);
  return at::randint(0, kIntegerInputs, type.shape, options);
}

/// Autocast while it lives, as torch.autocast: casts of parameters are shared
/// within a region and forgotten after it.
class AutocastGuard {
 public:
  explicit AutocastGuard(c10::DeviceType device_type)
      : device_type_(device_type) {
    at::autocast::set_autocast_enabled(device_type_, true);
    at::autocast::increment_nesting();
  }
  ~AutocastGuard() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_type_, false);
  }
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  c10::DeviceType device_type_;
};

void RequireOwnKernels(Optimizer optimizer) {
  if (!HasForeignKernels(optimizer)) return;
  throw Unsupported(
      "optimizer {}: the kernels of its step are not PyTorch's, which alone "
      "can be measured",
      OptimizerName(optimizer));
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
    : mode_(request.run.mode),
      device_type_(device.type()),
      autocast_(request.run.autocast),
      grad_mode_(request.run.grad_mode),
      instance_(program.Instantiate({.device = device,
                                     .precision = request.run.precision,
                                     .mode = request.run.mode,
                                     .seed = request.seed,
                                     .inputs = NamesOf(inputs)})) {
  for (const BoundInput& input : inputs) {
    inputs_.push_back(MakeInput(input, request.run.precision, device));
  }
  if (request.run.channels_last) {
    ToChannelsLast(*instance_);
    for (const at::Tensor& input : inputs_) ToChannelsLast(input);
  }
  if (grad_mode_) RequireGradients(*instance_);
  if (mode_ == Mode::kTraining) {
    RequireOwnKernels(request.run.optimizer);
    optimizer_.emplace(request.run.optimizer, TrainableTensors(*instance_));
  }
}

void MeasuredStep::Run() {
  if (mode_ == Mode::kInference) {
    Infer();
  } else {
    Train();
  }
}

std::vector<at::Tensor> MeasuredStep::Forward() {
  if (!autocast_) return instance_->Forward(inputs_);
  const AutocastGuard region(device_type_);
  return instance_->Forward(inputs_);
}

void MeasuredStep::Infer() {
  const c10::InferenceMode inference(!grad_mode_);
  const at::AutoGradMode records(grad_mode_);
  Forward();
}

void MeasuredStep::Train() {
  optimizer_->ZeroGrad();
  const std::vector<at::Tensor> outputs = Forward();
  at::Tensor loss = LossOf(*instance_, inputs_, outputs).value;
  optimizer_->SetTables(EmbeddingWeights(loss));
  if (loss.requires_grad()) loss.backward();
  loss.reset();
  optimizer_->Step();
}

}  // namespace foretell::measure
