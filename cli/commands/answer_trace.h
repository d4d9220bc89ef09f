#pragma once

#include <optional>

#include "cli/flags/model_options.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "foretell/session.h"
#include "src/judge/report.h"

namespace foretell::cli {

/// Parts of an answer in addition to the prediction.
struct AnswerOptions {
  mig::RecommendOptions mig = {};
  /// RunInGradMode, to report the memory without torch.no_grad().
  std::optional<Run> in_grad_mode = {};
};

/// The run of a second trace of `model`, without torch.no_grad(). Empty if that
/// makes no difference, and if the trace would take more than milliseconds.
std::optional<Run> RunInGradMode(const ModelOptions& model);

/// Everything to report about the step of `session`. Errors as Session::Ask.
Report AnswerStep(const Predictor& predictor, Session& session,
                  const AnswerOptions& options = {});

/// Prints WarningsOf the step on stderr, each after the name of the program.
void PrintWarnings(Session& session, const Prediction& prediction);

}  // namespace foretell::cli
