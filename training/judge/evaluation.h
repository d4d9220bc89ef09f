#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "src/features/targets.h"
#include "training/fit/predicted_sample.h"
#include "training/samples/samples.h"

namespace foretell::training {

/// Accuracy of predictions of one target. A value that cannot be computed is
/// kUnknown. Shares are from 0 to 1.
struct TargetAccuracy {
  learned::Target target = learned::Target::kMemory;
  std::int64_t count = 0;
  double mape = learned::kUnknown;        ///< Mean of |predicted / truth - 1|.
  double median_ape = learned::kUnknown;  ///< Its median.
  double r2 = learned::kUnknown;          ///< 1 - residual / total variance.
  double r2_log = learned::kUnknown;      ///< The same of logarithms.
  double spearman = learned::kUnknown;  ///< Correlation of ranks; ties shared.
  double underestimated = learned::kUnknown;  ///< Share with predicted < truth.
  /// Share of truths in their interval; kUnknown without intervals.
  double coverage = learned::kUnknown;
};

/// Judges those predictions that have the target.
TargetAccuracy JudgeTarget(learned::Target target,
                           std::span<const PredictedSample> predictions);

/// "Does it fit?" answered by predicted memory ≤ usable, against the truth.
struct FitDecision {
  std::string profile;  ///< Empty for the device without MIG.
  std::int64_t usable_mib = 0;
  std::int64_t fits = 0;       ///< Truly.
  std::int64_t predicted = 0;  ///< To fit.
  std::int64_t both = 0;

  double Recall() const;     ///< both / fits.
  double Precision() const;  ///< both / predicted.
};

/// One per MIG profile (without media extensions) and for the whole device.
std::vector<FitDecision> JudgeFits(
    const DeviceSpec& device, std::span<const PredictedSample> predictions);

/// Accuracy of the samples of a family.
struct FamilyAccuracy {
  std::string family;
  std::vector<TargetAccuracy> targets;
};

/// Everything that `foretell evaluate` prints.
struct Evaluation {
  std::string method;     ///< "pmgns × analytic", "analytic".
  std::string dataset;    ///< Path.
  std::string selection;  ///< "split configuration, part test", "all".
  std::vector<std::string> devices;
  std::vector<std::string> sources;
  std::map<std::string, std::int64_t> provenance;  ///< Labels by name.
  std::int64_t samples = 0;
  double pooled_mape = learned::kUnknown;  ///< Over all targets' labels.
  std::vector<TargetAccuracy> targets;     ///< Those with a label.
  std::vector<FitDecision> fits;  ///< Empty unless one device, with memory.
  std::vector<FamilyAccuracy> families;  ///< By name.
};

/// Judges predictions of samples of `set`. `device` may be null; then no fits
/// are judged. The fields method, dataset and selection are left to the caller.
Evaluation Evaluate(const SampleSet& set,
                    std::span<const PredictedSample> predictions,
                    std::span<const learned::Target> targets,
                    const DeviceSpec* device);

std::string EvaluationToText(const Evaluation& evaluation);
std::string EvaluationToMarkdown(const Evaluation& evaluation);
/// {"schema_version", "method", "dataset", "selection", "devices", "sources",
/// "provenance", "samples", "pooled_mape", "targets": [{"target", "count",
/// "mape", …}], "fits": [{"profile", "usable_mib", "fits", "predicted", "both",
/// "recall", "precision"}], "families": [{"family", "targets"}]}; unknown
/// numbers are null.
std::string EvaluationToJson(const Evaluation& evaluation);

/// A page with the same, and with every prediction next to its label; if a
/// target has too many for a page, only every n-th of its predictions. Errors
/// are counted for all of them.
std::string EvaluationToHtml(const Evaluation& evaluation, const SampleSet& set,
                             std::span<const PredictedSample> predictions);

/// A line per sample and target: model, family, batch, macs, device,
/// environment (JSON, of the label), provenance, target, label, prediction, lo,
/// hi; the last two empty without interval.
std::string PredictionsToCsv(const SampleSet& set,
                             std::span<const PredictedSample> predictions,
                             std::span<const learned::Target> targets);

}  // namespace foretell::training
