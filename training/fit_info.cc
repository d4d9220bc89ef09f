#include "training/fit_info.h"

#include <torch/version.h>

#include <cmath>
#include <string>

#include "foretell/error.h"
#include "foretell/version.h"
#include "src/model/node_costs.h"

namespace foretell::training {
namespace {

using model::Target;
using model::TargetScale;

/// Deviations of logarithms below this are rounding: labels are all equal.
constexpr double kConstant = 1e-6;

TargetScale FitScale(const TrainerOptions& options, const SampleSet& set,
                     Target target, std::span<const std::size_t> train) {
  TargetScale scale{.target = target, .kind = options.scale};
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const std::size_t index : train) {
    const Sample& sample = set.samples[index];
    const double value = ValueOf(sample.targets, target);
    if (!model::IsKnown(value)) continue;
    const double prior = set.prior.empty() ? 1 : ValueOf(sample.prior, target);
    const double log_value = std::log(value / prior);
    sum += log_value;
    squares += log_value * log_value;
    count += 1;
  }
  if (count == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "no label of the training part has a figure for " +
                    std::string(TargetName(target)));
  }
  if (options.scale == model::ScaleKind::kDippm) return scale;
  scale.mean = sum / count;
  // Corrected shares of a prior add up to a logarithm, in no other unit.
  if (options.network.pooling == model::Pooling::kPrior) return scale;
  const double variance = squares / count - scale.mean * scale.mean;
  const double deviation = std::sqrt(std::max(variance, 0.0));
  scale.deviation = deviation > kConstant ? deviation : 1;
  return scale;
}

}  // namespace

model::CheckpointInfo FitInfo(const TrainerOptions& options,
                              const SampleSet& set,
                              std::span<const Target> targets,
                              std::span<const std::size_t> train) {
  if (train.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "the training part is empty");
  }
  if (options.scale == model::ScaleKind::kDippm && !set.prior.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "the scale 'dippm' has no logarithm for a prior");
  }
  if (options.network.pooling == model::Pooling::kPrior &&
      (set.prior.empty() || !set.node_costs)) {
    throw Error(ErrorCode::kInvalidArgument,
                "pooling 'prior' needs a prior and the costs of nodes");
  }
  model::CheckpointInfo info{.feature_version = kFeatureVersion,
                             .foretell_version = kVersion,
                             .network = options.network,
                             .prior = set.prior,
                             .devices = set.devices,
                             .sources = set.sources};
  for (const Target target : targets) {
    info.targets.push_back({.scale = FitScale(options, set, target, train)});
  }
  std::vector<const std::vector<double>*> rows;
  for (const std::size_t index : train) {
    rows.push_back(&set.samples[index].inputs);
  }
  info.inputs = model::FitColumns(set.columns, rows);
  info.network.node_features =
      kNumNodeFeatures + (set.node_costs ? model::kNumNodeCosts : 0);
  info.network.static_features = std::ssize(info.inputs);
  info.network.outputs = std::ssize(info.targets);
  for (const auto& [provenance, count] : set.CountProvenance(train)) {
    info.provenance[std::string(ProvenanceName(provenance))] = count;
  }
  info.environment = {{"libtorch", TORCH_VERSION},
                      {"compute", options.compute}};
  return info;
}

}  // namespace foretell::training
