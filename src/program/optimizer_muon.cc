// torch.optim.Muon (_muon.py, 2.13): Newton-Schulz iterations in BF16 of the
// momentum of each matrix. Its documentation leaves embeddings and all that is
// not a matrix to another optimizer, here AdamW, which steps next.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "src/program/optimizer_constants.h"
#include "src/program/optimizer_step.h"

namespace foretell {

using namespace optim;

namespace {

constexpr double kMuonMomentum = 0.95;
constexpr double kMuonDecay = 0.1;
constexpr double kMuonEpsilon = 1e-7;
constexpr int kMuonIterations = 5;
/// Coefficients of the quintic polynomial.
constexpr double kMuonLinear = 3.4445, kMuonCubic = -4.7750,
                 kMuonQuintic = 2.0315;

/// Variables live as in Python: each until its next value is there.
at::Tensor Orthogonalized(const at::Tensor& matrix) {
  const bool is_tall = matrix.size(0) > matrix.size(1);
  at::Tensor factor = matrix.to(at::kBFloat16);
  if (is_tall) factor = factor.t();
  factor.div_(at::clamp(at::linalg_vector_norm(factor, 2), kMuonEpsilon));
  at::Tensor gram;
  at::Tensor update;
  for (int i = 0; i < kMuonIterations; ++i) {
    gram = at::matmul(factor, factor.t());
    update = at::addmm(gram, gram, gram, kMuonCubic, kMuonQuintic);
    factor = at::addmm(factor, update, factor, kMuonLinear);
  }
  return is_tall ? factor.t() : factor;
}

/// Grows with how much taller than wide the matrix is.
double MuonRateOf(const at::Tensor& matrix) {
  const auto rows = static_cast<double>(matrix.size(0));
  const auto columns = static_cast<double>(matrix.size(1));
  return kLearningRate * std::sqrt(std::max(1.0, rows / columns));
}

}  // namespace

void OptimizerStep::StepMuon(Tensors parameters, Tensors gradients) {
  std::vector<at::Tensor> others;
  std::vector<at::Tensor> other_gradients;
  std::size_t matrices = 0;
  at::Tensor update;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = gradients[i];
    if (parameters[i].dim() != 2 || IsOneOf(tables_, parameters[i])) {
      others.push_back(parameters[i]);
      other_gradients.push_back(gradient);
      continue;
    }
    if (matrices == orthogonal_.size()) {
      orthogonal_.push_back(at::zeros_like(gradient));
    }
    at::Tensor& momentum = orthogonal_[matrices++];
    momentum.lerp_(gradient, 1 - kMuonMomentum);
    update = at::lerp(gradient, momentum, kMuonMomentum);
    update = Orthogonalized(update);
    parameters[i].mul_(1 - kLearningRate * kMuonDecay);
    parameters[i].add_(update, -MuonRateOf(parameters[i]));
  }
  update.reset();
  if (!others.empty()) StepTorch(others, other_gradients);
}

}  // namespace foretell
