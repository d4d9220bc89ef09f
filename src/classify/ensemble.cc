#include "src/classify/ensemble.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "src/core/failure.h"

namespace foretell::classify {
namespace {

/// Members take turns with so many fully connected layers.
constexpr std::int64_t kDepths[] = {1, 2, 3};

class Members : public torch::nn::Module {
 public:
  at::Tensor AddScale(const std::string& name, const at::Tensor& value) {
    return register_buffer(name, value);
  }
};

EstimatorOptions OptionsOf(const EnsembleInfo& info, int member) {
  return {
      .kind = info.kind,
      .numbers = static_cast<std::int64_t>(
          NumberNames(info.inputs, info.classes).size()),
      .classes = info.classes.size(),
      .depth = kDepths[static_cast<std::size_t>(member) % std::size(kDepths)]};
}

}  // namespace

int ClassAnswer::Cautious() const {
  double below = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    below += probabilities[i];
    if (below >= kCaution) return static_cast<int>(i);
  }
  return static_cast<int>(probabilities.size()) - 1;
}

Ensemble::Ensemble(EnsembleInfo info) : info_(std::move(info)) {
  if (info_.members < 1 || info_.members > kMostMembers) {
    throw InvalidArgument("ensemble of {} estimators, expected 1 to {}",
                          info_.members, kMostMembers);
  }
  auto module = std::make_shared<Members>();
  for (int i = 0; i < info_.members; ++i) {
    members_.push_back(module->register_module(
        fmt::format("member{}", i), MakeEstimator(OptionsOf(info_, i))));
  }
  const std::int64_t numbers = OptionsOf(info_, 0).numbers;
  mean_ = module->AddScale("mean", at::zeros({numbers}));
  deviation_ = module->AddScale("deviation", at::ones({numbers}));
  module_ = std::move(module);
}

void Ensemble::SetScale(const StepTable& table, Rows rows) {
  const at::Tensor numbers = table.Take(rows).numbers;
  const at::Tensor deviation = numbers.std(0, /*unbiased=*/false);
  mean_.copy_(numbers.mean(0));
  deviation_.copy_(
      at::where(deviation > 1e-6, deviation, at::ones_like(deviation)));
}

StepBatch Ensemble::Scaled(StepBatch batch) const {
  batch.numbers = (batch.numbers - mean_) / deviation_;
  return batch;
}

std::vector<ClassAnswer> Ensemble::Answer(const StepTable& table,
                                          Rows rows) const {
  constexpr std::size_t kAtOnce = 256;
  const at::NoGradGuard no_gradients;
  std::vector<ClassAnswer> answers;
  for (std::size_t begin = 0; begin < rows.size(); begin += kAtOnce) {
    const Rows part =
        rows.subspan(begin, std::min(kAtOnce, rows.size() - begin));
    const StepBatch batch = Scaled(table.Take(part));
    at::Tensor sum;
    for (const auto& member : members_) {
      const at::Tensor one =
          at::softmax(member->forward(batch).to(at::kDouble), 1);
      sum = sum.defined() ? sum + one : one;
    }
    const at::Tensor mean = (sum / info_.members).contiguous();
    const auto* row = mean.const_data_ptr<double>();
    for (std::size_t i = 0; i < part.size(); ++i, row += info_.classes.size()) {
      answers.push_back({{row, row + info_.classes.size()}});
    }
  }
  return answers;
}

ClassAnswer Ensemble::Answer(const StepInputs& step) const {
  const StepInputs* one = &step;
  const std::int64_t first = 0;
  return Answer(Encode({&one, 1}), {&first, 1}).front();
}

StepTable Ensemble::Encode(std::span<const StepInputs* const> steps) const {
  return {steps, info_.inputs, info_.classes,
          info_.kind == EstimatorKind::kTransformer};
}

}  // namespace foretell::classify
