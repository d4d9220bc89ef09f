#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "training/fit/predicted_sample.h"
#include "training/fit/trainer.h"
#include "training/judge/evaluation.h"
#include "training/judge/experiment.h"
#include "training/samples/samples.h"

namespace foretell::training {

/// Unit that a fold holds out.
enum class FoldKind {
  kFamily,  ///< All samples of a family.
  kModel,   ///< All samples of a network, whatever its batch.
  kRandom,  ///< Samples of a point.
  kDevice,  ///< All samples of a device.
  /// All samples of devices of one compute capability: a chip with its slices
  /// and its cards of other sizes. Needs a recipe that reads devices.
  kGeneration,
  kSource,  ///< All samples of a source.
};
std::string_view FoldKindName(FoldKind kind);  ///< "family", ….

/// Number of the fold, from 0, of every sample. Groups come in the order of a
/// hash of their names and `seed`; each goes to the fold with the fewest
/// samples so far. The result does not depend on the order of samples. Throws
/// Error(kInvalidArgument) for fewer groups than folds, for `count` < 2, and
/// for kGeneration where the samples lack the figures of their devices.
std::vector<int> AssignFolds(const SampleSet& set, FoldKind kind, int count,
                             std::uint64_t seed);

/// Trains on all folds except one and predicts those of its samples that may
/// judge (SampleSet::ForJudging over the whole set); in the order of the set.
/// There is no validation part: all epochs are run. Empty when interrupted.
std::optional<std::vector<PredictedSample>> PredictFold(
    const LearningTask& task, std::span<const int> folds, int fold,
    const TrainerHooks& hooks);

/// Trains on all samples. The intervals and errors that the checkpoint states
/// are those of `predictions`, made by folds for held-out samples. Empty when
/// interrupted.
std::optional<learned::Checkpoint> TrainOnAll(
    const LearningTask& task, std::span<const PredictedSample> predictions,
    const TrainerHooks& hooks);

/// Predictions of all `count` folds with intervals, each from the residuals of
/// the other folds: no interval is fitted to the sample that it is tested on.
/// In the order of the samples.
std::vector<PredictedSample> CrossConformal(
    std::span<const PredictedSample> predictions, std::span<const int> folds,
    int count);

}  // namespace foretell::training
