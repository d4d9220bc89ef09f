#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/network/checkpoint.h"
#include "training/judge/evaluation.h"
#include "training/judge/experiment.h"
#include "training/judge/folds.h"
#include "training/judge/result_cache.h"
#include "training/samples/open_samples.h"
#include "training/samples/sample_request.h"

namespace foretell::training {

/// A cross-validation and the folder where its results are.
struct CrossValidationOptions {
  SampleRequest samples;
  TrainerOptions trainer;
  FoldKind kind = FoldKind::kFamily;
  int folds = 8;
  std::uint64_t seed = 0;  ///< Seed of the division into folds.
  std::string folder;      ///< Folds stored in it are not repeated.
};

/// Predicts every sample with a network trained without its fold.
class CrossValidation {
 public:
  /// Opens and divides the samples. Throws Error as OpenSamples, AssignFolds
  /// and ResultCache.
  explicit CrossValidation(CrossValidationOptions options);

  const SampleSet& set() const { return opened_.set; }
  std::span<const int> folds() const { return folds_; }  ///< Of each sample.
  /// Mean number of training samples per fold.
  std::int64_t samples_per_training() const;

  /// Predictions of all folds in turn, as PredictFold. Empty when interrupted;
  /// finished folds are kept. Throws Error as PredictFold, and kCorrupt for a
  /// kept fold that does not fit.
  std::optional<std::vector<PredictedSample>> PredictFolds(
      const HooksOfRun& hooks) const;

  /// As TrainOnAll; the checkpoint notes under "judged_by" how the predictions
  /// were made: "8 folds by family".
  std::optional<learned::Checkpoint> TrainFinal(
      std::span<const PredictedSample> predictions,
      const TrainerHooks& hooks) const;

  /// Judges predictions with intervals of CrossConformal, and writes
  /// predictions.csv, evaluation.txt, .md and .json into the folder.
  Evaluation Judge(std::span<const PredictedSample> predictions) const;

 private:
  std::vector<PredictedSample> Kept(const nlohmann::json& rows,
                                    const std::string& name) const;
  LearningTask Task() const;

  CrossValidationOptions options_;
  std::vector<learned::Target> targets_;
  OpenedSamples opened_;
  std::vector<int> folds_;
  ResultCache cache_;
};

/// "each sample predicted without its family, 8 folds", "each sample predicted
/// without it, 3 random folds".
std::string SelectionOf(FoldKind kind, std::int64_t folds);

}  // namespace foretell::training
