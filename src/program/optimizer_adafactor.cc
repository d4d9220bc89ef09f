// torch.optim.Adafactor: _single_tensor_adafactor of its file, which is what
// runs unless foreach=True is given.
//
// Of a matrix it keeps a mean of squares per row and one per column, whose
// product is the estimate for each element; of a vector all elements' squares.
// Norms of a parameter and of its update are read by the CPU (`.item()`), a
// wait each that a trace without values does not have.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/program/optimizer_constants.h"
#include "src/program/optimizer_step.h"

namespace foretell {

using namespace optim;

namespace {

/// Variables of the loop in Python: each lives until its next value is there.
struct AdafactorVariables {
  at::Tensor row_mean;
  at::Tensor column_mean;
  at::Tensor squared;
  at::Tensor estimate;
  at::Tensor update;
};

/// Root of the mean of squares; 1 without values.
double RootMeanSquare(const at::Tensor& tensor) {
  const at::Tensor norm = at::linalg_vector_norm(tensor, 2);
  if (norm.is_meta()) return 1;
  return norm.item<double>() / std::sqrt(static_cast<double>(tensor.numel()));
}

at::Tensor MeanOfSquares(const at::Tensor& tensor, std::int64_t dim) {
  return at::linalg_vector_norm(tensor, 2, at::IntArrayRef{dim},
                                /*keepdim=*/true)
      .square_()
      .div_(tensor.size(dim));
}

/// The shape of `like`, but 1 at `dim`.
at::Tensor ZerosWithout(const at::Tensor& like, std::int64_t dim) {
  std::vector<std::int64_t> shape = like.sizes().vec();
  shape[shape.size() - static_cast<std::size_t>(-dim)] = 1;
  return at::zeros(shape, like.options());
}

/// Of the type of a parameter and its gradient.
double EpsilonOf(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kHalf:
      return std::numeric_limits<c10::Half>::epsilon();
    case at::kBFloat16:
      return std::numeric_limits<c10::BFloat16>::epsilon();
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

AdafactorState StateFor(const at::Tensor& gradient) {
  if (gradient.dim() <= 1) return {.variance = at::zeros_like(gradient)};
  return {.row = ZerosWithout(gradient, -1),
          .column = ZerosWithout(gradient, -2)};
}

void EstimateMatrix(AdafactorState& state, const at::Tensor& gradient,
                    double weight, AdafactorVariables& now) {
  now.row_mean = MeanOfSquares(gradient, -1);
  state.row.lerp_(now.row_mean, weight);
  now.column_mean = MeanOfSquares(gradient, -2);
  state.column.lerp_(now.column_mean, weight);
  now.estimate = at::matmul(state.row, state.column);
  now.estimate.div_(
      state.row.mean(-2, /*keepdim=*/true).clamp_(EpsilonOf(gradient)));
}

void EstimateVector(AdafactorState& state, const at::Tensor& gradient,
                    double weight, AdafactorVariables& now) {
  now.squared = at::mul(gradient, gradient);
  state.variance.lerp_(now.squared, weight);
  now.estimate = at::clone(state.variance);
}

}  // namespace

void OptimizerStep::StepAdafactor(Tensors parameters, Tensors gradients) {
  if (factors_.empty()) {
    for (const at::Tensor& one : gradients) factors_.push_back(StateFor(one));
  }
  const double weight = std::pow(num_steps_, kAdafactorBeta2Decay);
  const double rate =
      std::min(kAdafactorLearningRate, 1 / std::sqrt(num_steps_));
  AdafactorVariables now;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = gradients[i];
    const double scale =
        std::max(kAdafactorSmallestScale, RootMeanSquare(parameters[i]));
    const auto estimate =
        gradient.dim() > 1 ? &EstimateMatrix : &EstimateVector;
    estimate(factors_[i], gradient, weight, now);
    const double smallest = std::pow(EpsilonOf(gradient), 2);
    now.update = now.estimate.clamp_(smallest).rsqrt_();
    now.update.mul_(gradient);
    const double divisor = std::max(1.0, RootMeanSquare(now.update));
    parameters[i].add_(now.update, -scale * rate / divisor);
  }
}

}  // namespace foretell
