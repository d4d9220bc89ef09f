#include "training/fit/fit_info.h"

#include <ATen/ATen.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "foretell/version.h"
#include "src/core/failure.h"
#include "src/core/text.h"
#include "src/features/node_costs.h"
#include "src/features/terms.h"
#include "training/samples/batch_loader.h"

namespace foretell::training {
namespace {

using learned::Target;
using learned::TargetScale;

/// Deviations of logarithms below this are rounding: labels are all equal.
constexpr double kConstant = 1e-6;
/// Inputs that vary less than this are left as they are.
constexpr double kConstantInput = 1e-3;
constexpr std::int64_t kFitBatch = 64;
constexpr double kFarQuantile = 0.99;

/// Refuses a target without any known value, and names those to learn.
[[noreturn]] void RefuseUnknown(const SampleSet& set, Target target,
                                std::span<const std::size_t> train) {
  std::vector<std::string> known;
  for (const Target other : learned::kAllTargets) {
    const bool is_known = std::ranges::any_of(train, [&](std::size_t index) {
      return learned::IsKnown(ValueOf(set.samples[index].targets, other));
    });
    if (is_known) known.emplace_back(TargetName(other));
  }
  throw InvalidArgument(
      "no label of the training part has a value for {}{}", TargetName(target),
      known.empty()
          ? ""
          : "; train on the existing ones: --targets " + Joined(known, ","));
}

TargetScale FitScale(const TrainerOptions& options, const SampleSet& set,
                     Target target, std::span<const std::size_t> train) {
  TargetScale scale{.target = target, .kind = options.scale};
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const std::size_t index : train) {
    const Sample& sample = set.samples[index];
    const double value = ValueOf(sample.targets, target);
    if (!learned::IsKnown(value)) continue;
    const double log_value =
        std::log(value / set.recipe.FactorOf(sample.prior, target));
    sum += log_value;
    squares += log_value * log_value;
    count += 1;
  }
  if (count == 0) RefuseUnknown(set, target, train);
  if (options.scale == learned::ScaleKind::kDippm) return scale;
  scale.mean = sum / count;
  // Corrected shares of a prior add up to a logarithm, which is not rescaled.
  if (options.network.pooling == learned::Pooling::kPrior) return scale;
  if (set.recipe.terms) return {.target = target};
  const double variance = squares / count - scale.mean * scale.mean;
  const double deviation = std::sqrt(std::max(variance, 0.0));
  scale.deviation = deviation > kConstant ? deviation : 1;
  return scale;
}

void CheckTerms(const TrainerOptions& options, const SampleSet& set,
                std::span<const Target> targets) {
  const std::optional<learned::TermSet>& terms = options.network.kind.terms;
  if (terms != set.recipe.terms) {
    throw InternalFailure("samples of another term set");
  }
  if (!terms) return;
  const std::string_view network = NetworkKindName(options.network.kind);
  const Target target = learned::LayoutOf(*terms).target;
  if (targets.size() != 1 || targets.front() != target) {
    throw InvalidArgument(
        "network '{}' predicts only {}; name it with --targets", network,
        TargetName(target));
  }
  if (options.scale != learned::ScaleKind::kLog) {
    throw InvalidArgument("network '{}' needs the scale 'log'", network);
  }
}

void CheckPrior(const TrainerOptions& options, const SampleSet& set) {
  const bool has_prior = !set.recipe.prior.empty();
  if (options.scale == learned::ScaleKind::kDippm && has_prior) {
    throw InvalidArgument(
        "the scale 'dippm' is not logarithmic, which a prior needs");
  }
  if (options.network.pooling == learned::Pooling::kPrior &&
      !(has_prior && set.recipe.node_costs)) {
    throw InvalidArgument(
        "pooling 'prior' needs a prior and the costs of nodes");
  }
}

/// Sets the widths that follow from the samples and the targets.
void FitWidths(const learned::InputRecipe& recipe,
               learned::CheckpointInfo& info) {
  info.network.node_features =
      kNumNodeFeatures + (recipe.node_costs ? learned::kNumNodeCosts : 0);
  info.network.static_features = std::ssize(info.recipe.columns);
  if (recipe.terms) {
    const learned::TermLayout layout = learned::LayoutOf(*recipe.terms);
    info.network.node_features = layout.num_classes + layout.num_features;
    info.network.static_features += layout.num_totals;
  }
  info.network.outputs = std::ssize(info.targets);
}

std::vector<learned::InputColumn> FitColumnsOf(
    const SampleSet& set, std::span<const std::size_t> train) {
  std::vector<const std::vector<double>*> rows;
  for (const std::size_t index : train) {
    rows.push_back(&set.samples[index].inputs);
  }
  return FitColumns(KeysOf(set.recipe.columns), rows);
}

}  // namespace

learned::CheckpointInfo FitInfo(const TrainerOptions& options,
                                const SampleSet& set,
                                std::span<const Target> targets,
                                std::span<const std::size_t> train) {
  if (train.empty()) {
    throw InvalidArgument("the training part is empty");
  }
  CheckPrior(options, set);
  CheckTerms(options, set, targets);
  learned::CheckpointInfo info{.feature_version = kFeatureVersion,
                               .foretell_version = kVersion,
                               .network = options.network,
                               .recipe = set.recipe,
                               .devices = set.devices,
                               .sources = set.sources};
  for (const Target target : targets) {
    info.targets.push_back({.scale = FitScale(options, set, target, train)});
  }
  info.recipe.columns = FitColumnsOf(set, train);
  FitWidths(set.recipe, info);
  if (info.recipe.terms) {
    info.probe = learned::ProbeTerms(info.recipe, info.devices);
  }
  for (const auto& [provenance, count] : set.CountProvenance(train)) {
    info.provenance[std::string(ProvenanceName(provenance))] = count;
  }
  info.environment = {{"libtorch", TORCH_VERSION},
                      {"compute", options.compute}};
  return info;
}

void FitInputScale(learned::Network& network,
                   const learned::CheckpointInfo& info,
                   const TrainingData& data) {
  if (!info.network.kind.terms) return;
  const at::NoGradGuard no_gradients;
  network.eval();
  const at::Device device = network.parameters().front().device();
  at::Tensor sum;
  at::Tensor squares;
  BatchLoader loader(data.store, data.set, info,
                     PlanEvaluation(data.set, data.train, kFitBatch));
  while (const std::optional<LoadedBatch> batch = loader.Next()) {
    const at::Tensor inputs = network.InputsToScale(batch->graphs.To(device));
    const at::Tensor exact = inputs.to(at::kDouble);
    sum = sum.defined() ? sum + exact.sum(0) : exact.sum(0);
    const at::Tensor squared = exact.square().sum(0);
    squares = squares.defined() ? squares + squared : squared;
  }
  const auto count = static_cast<double>(data.train.size());
  const at::Tensor mean = sum / count;
  const at::Tensor deviation =
      (squares / count - mean.square()).clamp_min(0).sqrt();
  network.SetInputScale(mean,
                        at::where(deviation > kConstantInput, deviation, 1.0));
}

std::optional<double> FarDistance(learned::Network& network,
                                  const learned::CheckpointInfo& info,
                                  const TrainingData& data) {
  if (!info.network.kind.terms) return std::nullopt;
  const at::NoGradGuard no_gradients;
  network.eval();
  std::vector<at::Tensor> distances;
  BatchLoader loader(data.store, data.set, info,
                     PlanEvaluation(data.set, data.train, kFitBatch));
  while (const std::optional<LoadedBatch> batch = loader.Next()) {
    distances.push_back(network
                            .InputDistance(batch->graphs.To(
                                network.parameters().front().device()))
                            .to(at::kDouble));
  }
  return at::quantile(at::cat(distances), kFarQuantile).item<double>();
}

}  // namespace foretell::training
