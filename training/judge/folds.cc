#include "training/judge/folds.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "datasets/collect/order.h"
#include "src/core/failure.h"
#include "src/core/name_table.h"
#include "src/core/numbers.h"
#include "src/network/weights.h"
#include "training/fit/fit_info.h"
#include "training/fit/predict_samples.h"
#include "training/fit/residuals.h"

namespace foretell::training {
namespace {

constexpr NameTable<6> kFoldNames = {"family", "model",      "random",
                                     "device", "generation", "source"};

std::string GenerationOf(const SampleSet& set, const Sample& sample) {
  if (set.specs.empty()) {
    throw InvalidArgument(
        "folds by generation need a network or inputs that read the device");
  }
  return fmt::format("{}", set.specs[sample.device]->compute_capability);
}

std::string GroupOf(const SampleSet& set, const Sample& sample, FoldKind kind) {
  switch (kind) {
    case FoldKind::kFamily:
      return sample.family;
    case FoldKind::kModel:
      return sample.model;
    case FoldKind::kDevice:
      return set.devices[sample.device];
    case FoldKind::kGeneration:
      return GenerationOf(set, sample);
    case FoldKind::kSource:
      return set.sources[sample.source];
    case FoldKind::kRandom:
      break;
  }
  return fmt::format("{} {} {}", sample.model, sample.batch, sample.point);
}

using Groups = std::map<std::string, std::vector<std::size_t>>;

std::vector<const Groups::value_type*> Shuffled(const Groups& groups,
                                                std::uint64_t seed) {
  std::vector<const Groups::value_type*> order;
  for (const auto& group : groups) order.push_back(&group);
  std::ranges::sort(order, {}, [seed](const Groups::value_type* group) {
    return std::pair(dataset::UnitHash(group->first, seed), group->first);
  });
  return order;
}

/// Trains to the last epoch; empty when interrupted.
std::optional<learned::LearnedModel> Train(const LearningTask& task,
                                           const TrainingData& data,
                                           const TrainerHooks& hooks) {
  Communicator alone;
  Trainer trainer(task.options,
                  FitInfo(task.options, task.set, task.targets, data.train),
                  data, alone);
  if (trainer.Run(hooks) == RunEnd::kInterrupted) return std::nullopt;
  return trainer.LastModel();
}

using TargetIntervals =
    std::array<std::optional<learned::ResidualInterval>, learned::kNumTargets>;

TargetIntervals IntervalsOf(std::span<const PredictedSample> predictions) {
  TargetIntervals intervals;
  for (const learned::Target target : learned::kAllTargets) {
    intervals[static_cast<std::size_t>(target)] =
        ConformalInterval(LogResiduals(predictions, target));
  }
  return intervals;
}

void SetIntervals(const TargetIntervals& intervals, PredictedSample& sample) {
  for (std::size_t i = 0; i < learned::kNumTargets; ++i) {
    if (!intervals[i]) continue;
    const double predicted = sample.predicted[i];
    sample.intervals[i] = Interval{predicted * std::exp(intervals[i]->lo),
                                   predicted * std::exp(intervals[i]->hi)};
  }
}

}  // namespace

std::string_view FoldKindName(FoldKind kind) {
  return NameIn(kFoldNames, kind);
}

std::vector<int> AssignFolds(const SampleSet& set, FoldKind kind, int count,
                             std::uint64_t seed) {
  Groups groups;
  for (std::size_t i = 0; i < set.samples.size(); ++i) {
    groups[GroupOf(set, set.samples[i], kind)].push_back(i);
  }
  if (groups.size() < 2) {
    throw InvalidArgument("folds by {}: samples have {}, expected at least 2",
                          FoldKindName(kind), Counted(groups.size(), "group"));
  }
  if (count < 2 || std::ssize(groups) < count) {
    throw InvalidArgument("{} by {}: expected 2 to {}, the number of groups",
                          Counted(count, "fold"), FoldKindName(kind),
                          groups.size());
  }
  std::vector<std::size_t> sizes(static_cast<std::size_t>(count), 0);
  std::vector<int> folds(set.samples.size(), 0);
  for (const Groups::value_type* group : Shuffled(groups, seed)) {
    const auto fold = std::ranges::min_element(sizes) - sizes.begin();
    for (const std::size_t index : group->second) {
      folds[index] = static_cast<int>(fold);
    }
    sizes[static_cast<std::size_t>(fold)] += group->second.size();
  }
  return folds;
}

std::optional<std::vector<PredictedSample>> PredictFold(
    const LearningTask& task, std::span<const int> folds, int fold,
    const TrainerHooks& hooks) {
  TrainingData data{.set = task.set, .store = task.store};
  std::vector<std::size_t> all(folds.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> left_out;
  for (const std::size_t i : all) {
    if (folds[i] != fold) data.train.push_back(i);
  }
  for (const std::size_t i : task.set.ForJudging(all)) {
    if (folds[i] == fold) left_out.push_back(i);
  }
  const auto learned = Train(task, data, hooks);
  if (!learned) return std::nullopt;
  Communicator alone;
  return PredictSamples({.store = task.store,
                         .set = task.set,
                         .info = learned->info(),
                         .network = learned->network(),
                         .communicator = alone},
                        left_out)
      .predictions;
}

std::optional<learned::Checkpoint> TrainOnAll(
    const LearningTask& task, std::span<const PredictedSample> predictions,
    const TrainerHooks& hooks) {
  TrainingData data{.set = task.set, .store = task.store};
  data.train.resize(task.set.samples.size());
  std::iota(data.train.begin(), data.train.end(), std::size_t{0});
  const auto learned = Train(task, data, hooks);
  if (!learned) return std::nullopt;
  PassSums sums;
  for (const PredictedSample& one : predictions) sums.Add(one);
  // Not Last: what is needed to go on with the run is of no use here.
  learned::Checkpoint checkpoint{
      .info = learned->info(),
      .weights = learned::WeightsOf(learned->network())};
  for (learned::CheckpointTarget& target : checkpoint.info.targets) {
    const double mape = sums.Mape(target.scale.target);
    if (learned::IsKnown(mape)) target.validation_mape = mape;
    target.interval =
        ConformalInterval(LogResiduals(predictions, target.scale.target));
  }
  checkpoint.info.far_distance =
      FarDistance(learned->network(), learned->info(), data);
  return checkpoint;
}

std::vector<PredictedSample> CrossConformal(
    std::span<const PredictedSample> predictions, std::span<const int> folds,
    int count) {
  std::vector<PredictedSample> with_intervals(predictions.begin(),
                                              predictions.end());
  for (int fold = 0; fold < count; ++fold) {
    std::vector<PredictedSample> others;
    for (const PredictedSample& one : predictions) {
      if (folds[one.sample] != fold) others.push_back(one);
    }
    const TargetIntervals intervals = IntervalsOf(others);
    for (PredictedSample& one : with_intervals) {
      if (folds[one.sample] == fold) SetIntervals(intervals, one);
    }
  }
  std::ranges::sort(with_intervals, {}, &PredictedSample::sample);
  return with_intervals;
}

}  // namespace foretell::training
