#include "training/judge/folds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "datasets/collect/order.h"
#include "foretell/error.h"
#include "src/core/name_table.h"
#include "src/network/weights.h"
#include "training/fit/fit_info.h"
#include "training/fit/predict_samples.h"

namespace foretell::training {
namespace {

constexpr NameTable<4> kFoldNames = {"family", "model", "random", "device"};

std::string GroupOf(const SampleSet& set, const Sample& sample, FoldKind kind) {
  switch (kind) {
    case FoldKind::kFamily:
      return sample.family;
    case FoldKind::kModel:
      return sample.model;
    case FoldKind::kDevice:
      return set.devices[sample.device];
    case FoldKind::kRandom:
      break;
  }
  return sample.model + " " + std::to_string(sample.batch) + " " +
         std::to_string(sample.point);
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

}  // namespace

std::string_view FoldKindName(FoldKind kind) {
  return NameIn(kFoldNames, kind);
}

std::optional<FoldKind> ParseFoldKind(std::string_view name) {
  return FindIn<FoldKind>(kFoldNames, name);
}

std::vector<int> AssignFolds(const SampleSet& set, FoldKind kind, int count,
                             std::uint64_t seed) {
  Groups groups;
  for (std::size_t i = 0; i < set.samples.size(); ++i) {
    groups[GroupOf(set, set.samples[i], kind)].push_back(i);
  }
  if (count < 2 || std::ssize(groups) < count) {
    throw Error(ErrorCode::kInvalidArgument,
                std::to_string(count) + " folds by " +
                    std::string(FoldKindName(kind)) + ": expected 2 to " +
                    std::to_string(groups.size()) + ", the number of groups");
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
    const TrainerOptions& options, std::span<const learned::Target> targets,
    const SampleSet& set, FeatureStore& store, std::span<const int> folds,
    int fold, const TrainerHooks& hooks) {
  TrainingData data{.set = set, .store = store};
  std::vector<std::size_t> all(folds.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> left_out;
  for (const std::size_t i : all) {
    if (folds[i] != fold) data.train.push_back(i);
  }
  for (const std::size_t i : set.ForJudging(all)) {
    if (folds[i] == fold) left_out.push_back(i);
  }
  Communicator alone;
  Trainer trainer(options, FitInfo(options, set, targets, data.train), data,
                  alone);
  if (trainer.Run(hooks) == RunEnd::kInterrupted) return std::nullopt;
  const learned::LearnedModel learned = trainer.LastModel();
  return PredictSamples({.store = store,
                         .set = set,
                         .info = learned.info(),
                         .network = learned.network(),
                         .communicator = alone},
                        left_out)
      .predictions;
}

std::optional<learned::Checkpoint> TrainOnAll(
    const TrainerOptions& options, std::span<const learned::Target> targets,
    const SampleSet& set, FeatureStore& store,
    std::span<const PredictedSample> predictions, const TrainerHooks& hooks) {
  TrainingData data{.set = set, .store = store};
  data.train.resize(set.samples.size());
  std::iota(data.train.begin(), data.train.end(), std::size_t{0});
  Communicator alone;
  Trainer trainer(options, FitInfo(options, set, targets, data.train), data,
                  alone);
  if (trainer.Run(hooks) == RunEnd::kInterrupted) return std::nullopt;
  const learned::LearnedModel learned = trainer.LastModel();
  PassSums sums;
  for (const PredictedSample& one : predictions) sums.Add(set, one);
  // Not Last: what it takes to go on with the run is of no use here.
  learned::Checkpoint checkpoint{
      .info = learned.info(), .weights = learned::WeightsOf(learned.network())};
  for (learned::CheckpointTarget& target : checkpoint.info.targets) {
    const double mape = sums.Mape(target.scale.target);
    if (learned::IsKnown(mape)) target.validation_mape = mape;
    target.interval =
        ConformalInterval(LogResiduals(set, predictions, target.scale.target));
  }
  checkpoint.info.far_distance =
      FarDistance(learned.network(), learned.info(), store, set, data.train);
  return checkpoint;
}

std::vector<Answer> CrossConformal(const SampleSet& set,
                                   std::span<const PredictedSample> predictions,
                                   std::span<const int> folds, int count) {
  std::vector<Answer> answers;
  for (int fold = 0; fold < count; ++fold) {
    std::vector<PredictedSample> others;
    for (const PredictedSample& one : predictions) {
      if (folds[one.sample] != fold) others.push_back(one);
    }
    std::array<std::optional<learned::ResidualInterval>, learned::kNumTargets>
        intervals;
    for (const learned::Target target : learned::kAllTargets) {
      intervals[static_cast<std::size_t>(target)] =
          ConformalInterval(LogResiduals(set, others, target));
    }
    for (const PredictedSample& one : predictions) {
      if (folds[one.sample] != fold) continue;
      Answer answer{.sample = one.sample, .values = one.values};
      for (std::size_t i = 0; i < learned::kNumTargets; ++i) {
        if (!intervals[i]) continue;
        answer.intervals[i] =
            Interval{one.values[i] * std::exp(intervals[i]->lo),
                     one.values[i] * std::exp(intervals[i]->hi)};
      }
      answers.push_back(answer);
    }
  }
  std::ranges::sort(answers, {}, &Answer::sample);
  return answers;
}

}  // namespace foretell::training
