#include "src/answer/learned_model.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "src/network/weights.h"

namespace foretell::learned {

LearnedModel LearnedModel::Load(const std::string& path) {
  return {ReadCheckpoint(path), path};
}

LearnedModel::LearnedModel(const Checkpoint& checkpoint,
                           const std::string& origin)
    : LearnedModel(
          checkpoint.info,
          RestoreNetwork(checkpoint.info.network, checkpoint.weights, origin)) {
}

LearnedModel::LearnedModel(CheckpointInfo info,
                           std::shared_ptr<Network> network)
    : info_(std::move(info)), network_(std::move(network)) {}

std::vector<TargetValues> LearnedModel::Predict(
    const GraphBatch& batch, std::span<const TargetValues> priors) const {
  const at::NoGradGuard no_gradients;
  return DecodeAll(info_, Activate(info_, network_->forward(batch)), priors);
}

std::optional<Interval> LearnedModel::IntervalOf(Target target,
                                                 double predicted) const {
  for (const CheckpointTarget& one : info_.targets) {
    if (one.scale.target != target || !one.interval) continue;
    return Interval{predicted * std::exp(one.interval->lo),
                    predicted * std::exp(one.interval->hi)};
  }
  return std::nullopt;
}

at::Tensor Activate(const CheckpointInfo& info, const at::Tensor& output) {
  const bool dippm = info.targets.front().scale.kind == ScaleKind::kDippm;
  return dippm ? at::neg(at::log_sigmoid(output)) : output;
}

std::vector<TargetValues> DecodeAll(const CheckpointInfo& info,
                                    const at::Tensor& activated,
                                    std::span<const TargetValues> priors) {
  const at::Tensor plain = activated.detach().to(at::kCPU, at::kDouble);
  const at::TensorAccessor<double, 2> outputs = plain.accessor<double, 2>();
  std::vector<TargetValues> rows(static_cast<std::size_t>(plain.size(0)),
                                 kNoValues);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const TargetValues& prior = priors.empty() ? kNoValues : priors[row];
    for (std::size_t i = 0; i < info.targets.size(); ++i) {
      const TargetScale& scale = info.targets[i].scale;
      const double learned = Decode(
          scale,
          outputs[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(i)],
          info.recipe.FactorOf(prior, scale.target));
      ValueOf(rows[row], scale.target) =
          info.recipe.Combine(learned, prior, scale.target);
    }
  }
  return rows;
}

}  // namespace foretell::learned
