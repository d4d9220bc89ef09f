#pragma once

#include <string>
#include <vector>

#include "training/judge/evaluation.h"
#include "training/samples/open_samples.h"
#include "training/samples/sample_request.h"

namespace foretell::training {

/// What to evaluate, and on which labels.
struct JudgeOptions {
  /// Without a split, the part is ignored. A checkpoint decides targets and
  /// recipe.
  SampleRequest samples;
  Part part = Part::kTest;
  std::string checkpoint;       ///< Path; empty: the prior alone.
  std::string compute = "cpu";  ///< As ComputeDevice.
};

/// Predictions with their samples.
struct Judgement {
  OpenedSamples opened;
  std::vector<PredictedSample> predictions;
  Evaluation evaluation;  ///< Of all targets, complete.
};

/// Judges a checkpoint; without one the prior, which is then the analytic one
/// unless it comes from labels. Throws Error as OpenSamples,
/// LearnedModel::Load, CheckFits and ComputeDevice; kInvalidArgument that names
/// the dataset and the selection when no sample is in it.
Judgement JudgeSamples(JudgeOptions options);

}  // namespace foretell::training
