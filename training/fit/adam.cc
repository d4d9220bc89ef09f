#include "training/fit/adam.h"

#include <ATen/ATen.h>

#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/network/weights.h"

namespace foretell::training {
namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

void CopyState(const std::map<std::string, learned::StoredTensor>& state,
               const std::string& name, const std::string& origin,
               at::Tensor& into) {
  const auto found = state.find(name);
  if (found == state.end()) {
    throw Corrupt("{}: no tensor 'optimizer.{}', so training cannot continue",
                  origin, name);
  }
  const learned::StoredTensor& stored = found->second;
  if (stored.dtype != "F32" || stored.shape != into.sizes().vec()) {
    throw Corrupt("{}: tensor 'optimizer.{}' has {}, expected {}", origin, name,
                  Counted(stored.NumElements(), "element"), into.numel());
  }
  into.copy_(learned::ToTensor(stored));
}

}  // namespace

FlatParameters::FlatParameters(learned::Network& network) {
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> flat;
  for (const at::Tensor& parameter : network.parameters()) {
    flat.push_back(parameter.detach().reshape({-1}));
  }
  values_ = at::cat(flat);
  gradients_ = at::zeros({values_.numel() + kExtra}, values_.options());
  std::int64_t begin = 0;
  for (at::Tensor& parameter : network.parameters()) {
    const std::int64_t count = parameter.numel();
    const std::vector<std::int64_t> shape = parameter.sizes().vec();
    parameter.set_data(values_.narrow(0, begin, count).view(shape));
    parameter.mutable_grad() = gradients_.narrow(0, begin, count).view(shape);
    begin += count;
  }
}

at::Tensor FlatParameters::gradients() const {
  return gradients_.narrow(0, 0, values_.numel());
}

void FlatParameters::ClearGradients() { gradients_.zero_(); }

Adam::Adam(const at::Tensor& parameters)
    : moment1_(at::zeros_like(parameters)),
      moment2_(at::zeros_like(parameters)),
      step_(at::zeros({}, parameters.options())) {}

void Adam::Step(const at::Tensor& parameters, const at::Tensor& gradients,
                double learning_rate, const WeightDecay& decay) {
  const at::NoGradGuard no_gradients;
  step_.add_(1);
  at::Tensor values = parameters;
  at::Tensor slopes = gradients;
  const auto update = [&](auto fused) {
    fused(values, slopes, moment1_, moment2_, at::TensorList{}, step_,
          learning_rate, kBeta1, kBeta2, decay.factor, kEpsilon,
          /*amsgrad=*/false, /*maximize=*/false);
  };
  if (decay.decoupled) {
    update([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
  } else {
    update([](auto&&... arguments) { at::_fused_adam_(arguments...); });
  }
}

std::map<std::string, learned::StoredTensor> Adam::State() const {
  return {{"moment1", learned::ToStored(moment1_)},
          {"moment2", learned::ToStored(moment2_)},
          {"step", learned::ToStored(step_)}};
}

void Adam::Restore(const std::map<std::string, learned::StoredTensor>& state,
                   const std::string& origin) {
  CopyState(state, "moment1", origin, moment1_);
  CopyState(state, "moment2", origin, moment2_);
  CopyState(state, "step", origin, step_);
}

}  // namespace foretell::training
