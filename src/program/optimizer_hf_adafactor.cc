// Adafactor of transformers 5.24 (optimization.py), as its Trainer makes it:
// scale_parameter=False, relative_step=False. No first moment; states and
// arithmetic in FP32, by copies of 16-bit weights and gradients.

#include <ATen/ATen.h>

#include <cmath>

#include "src/program/optimizer_constants.h"
#include "src/program/optimizer_step.h"

namespace foretell {

using namespace optim;

namespace {

constexpr double kHfEpsilon = 1e-30;

bool IsHalf(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf ||
         tensor.scalar_type() == at::kBFloat16;
}

at::Tensor InFloat(const at::Tensor& tensor) {
  return IsHalf(tensor) ? tensor.to(at::kFloat) : tensor;
}

/// On the device, unlike that of torch.optim's step.
at::Tensor RootOfMeanSquare(const at::Tensor& tensor) {
  return at::div(at::linalg_vector_norm(tensor, 2),
                 std::sqrt(static_cast<double>(tensor.numel())));
}

AdafactorState HfStateFor(const at::Tensor& gradient) {
  if (gradient.dim() <= 1) return {.variance = at::zeros_like(gradient)};
  std::vector<std::int64_t> rows = gradient.sizes().vec();
  std::vector<std::int64_t> columns = rows;
  rows.pop_back();
  columns.erase(columns.end() - 2);
  return {.row = at::zeros(rows, gradient.options()),
          .column = at::zeros(columns, gradient.options())};
}

/// Mixes the squares `update` into the state and replaces them by the step.
void EstimateHf(AdafactorState& state, const at::Tensor& gradient,
                double weight, at::Tensor& update) {
  if (gradient.dim() <= 1) {
    state.variance.mul_(1 - weight).add_(update, weight);
    update = at::rsqrt(state.variance).mul_(gradient);
    return;
  }
  state.row.mul_(1 - weight).add_(at::mean(update, -1), weight);
  state.column.mul_(1 - weight).add_(at::mean(update, -2), weight);
  const at::Tensor rows =
      at::div(state.row, at::mean(state.row, -1, /*keepdim=*/true))
          .rsqrt_()
          .unsqueeze(-1);
  update = at::mul(rows, at::rsqrt(state.column.unsqueeze(-2)));
  update.mul_(gradient);
}

}  // namespace

void OptimizerStep::StepHfAdafactor(Tensors parameters, Tensors gradients) {
  const double weight = std::pow(num_steps_, kAdafactorBeta2Decay);
  // The step keeps the norm of each weight, which it does not use.
  std::vector<at::Tensor> norms;
  // Variables of the loop in Python: each lives until its next value is there.
  at::Tensor gradient;
  at::Tensor parameter;
  at::Tensor update;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    gradient = gradients[i];
    gradient = InFloat(gradient);
    if (i == factors_.size()) factors_.push_back(HfStateFor(gradient));
    parameter = parameters[i];
    parameter = InFloat(parameter);
    norms.push_back(RootOfMeanSquare(parameter));
    update = at::add(at::pow(gradient, 2), kHfEpsilon);
    EstimateHf(factors_[i], gradient, weight, update);
    update.div_(at::div(RootOfMeanSquare(update), 1.0).clamp_(1.0));
    update.mul_(kLearningRate);
    parameter.add_(at::neg(update));
    if (IsHalf(parameters[i])) parameters[i].copy_(parameter);
  }
}

}  // namespace foretell
