#pragma once

#include <optional>

#include "cli/flags/model_options.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "foretell/session.h"
#include "src/judge/report.h"

namespace foretell::cli {

/// The run of a second trace of `model`, without torch.no_grad(). Empty if that
/// makes no difference, and if the trace would take more than milliseconds.
std::optional<Run> RunInGradMode(const ModelOptions& model);

/// Everything to report about the step of `session`; with `in_grad_mode`, a
/// RunInGradMode, also the memory without torch.no_grad(). Errors as
/// Session::Ask.
Report AnswerStep(const Predictor& predictor, Session& session,
                  const std::optional<Run>& in_grad_mode = {},
                  const mig::RecommendOptions& mig = {});

/// Prints WarningsOf the step on stderr, each after the name of the program.
void PrintWarnings(Session& session, const Prediction& prediction);

}  // namespace foretell::cli
