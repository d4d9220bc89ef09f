#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "foretell/predictor.h"
#include "src/judge/report.h"

namespace foretell::cli {

/// Looks for the change of a step that is worth trying first. Prepares each
/// change once for all models. Keeps references to its arguments.
class ChangeFinder {
 public:
  ChangeFinder(const ModelOptions& model, const PredictorFlags& flags)
      : model_(model), flags_(flags) {}

  /// The change, simulated as the step itself was: one that leaves the numerics
  /// alone if the step does not fit, automatic mixed precision if it is only
  /// slow. Empty if nothing that applies saves a tenth of the memory or of the
  /// time, or takes longer where the step fits. `foretell advise` tries more.
  std::optional<ReportSuggestion> Find(const Session& session,
                                       const Report& report);

 private:
  /// The step with the change that the flags `change` make, described by
  /// `changed`; empty if it cannot be simulated.
  std::optional<ReportSuggestion> Simulate(const std::string& change,
                                           const ModelOptions& changed,
                                           const Session& session);

  const ModelOptions& model_;
  const PredictorFlags& flags_;
  std::map<std::string, Predictor>
      predictors_;  ///< Keyed by the change's flags.
};

}  // namespace foretell::cli
