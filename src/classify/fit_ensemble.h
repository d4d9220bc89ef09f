#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/classify/ensemble.h"

namespace foretell::classify {

/// How an ensemble learns.
struct FitOptions {
  int epochs = 0;  ///< 0: DefaultEpochs.
  std::int64_t batch_size = 64;
  double learning_rate = 3e-3;  ///< At the start; falls to 0 by half a cosine.
  double weight_decay = 1e-3;
  std::uint64_t seed = 0;
  /// Called after every epoch; may be empty.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

/// Estimators in an ensemble: 6 of an MLP, 2 of a Transformer, which needs a
/// hundred times as long to fit.
int DefaultMembers(EstimatorKind kind);

/// 15 of an MLP and 10 of a Transformer where the simulation is only corrected:
/// more was worse on held-out rows. 150 and 40 with the published inputs alone.
int DefaultEpochs(EstimatorKind kind, InputSet inputs);

/// An ensemble that has learned from these steps: cross entropy, AdamW, each
/// member from a seed of its own. Equal steps, options and versions of LibTorch
/// give equal weights. `info` states what it is made of; its sets and steps are
/// filled in. Throws Error(kInvalidArgument) for no steps.
Ensemble FitEnsemble(std::span<const LabelledStep> steps, EnsembleInfo info,
                     const FitOptions& options);

/// An ensemble's answer for a step that it has not seen.
struct HeldOutAnswer {
  int fold = 0;
  ClassAnswer answer;
};

/// An answer per step: the steps are shuffled by the seed and cut into `folds`
/// parts of equal size, and each is answered by an ensemble fitted to the
/// others. Throws Error(kInvalidArgument) unless 2 <= folds <= steps.
std::vector<HeldOutAnswer> CrossValidate(std::span<const LabelledStep> steps,
                                         const EnsembleInfo& info,
                                         const FitOptions& options, int folds);

}  // namespace foretell::classify
