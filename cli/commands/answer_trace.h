#pragma once

#include <string>
#include <vector>

#include "cli/flags/model_options.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "foretell/session.h"
#include "src/judge/report.h"

namespace foretell::cli {

/// Parts of an answer in addition to the prediction.
struct AnswerOptions {
  mig::RecommendOptions mig;
  /// From TraceInGradMode, to report the memory without torch.no_grad().
  std::vector<TraceOptions> in_grad_mode;
};

/// Options of a second trace of `model`, without torch.no_grad(). Empty if that
/// makes no difference, and if the trace would take more than milliseconds.
std::vector<TraceOptions> TraceInGradMode(const ModelOptions& model);

/// Everything to report about `trace`, which is one of `program`. Throws what
/// Predict and mig::Recommend throw.
Report AnswerTrace(const Predictor& predictor, const Program& program,
                   const Trace& trace, const AnswerOptions& options);

/// Prints WarningsOf on stderr, each after the name of the program.
void PrintWarnings(const Program& program, const Trace& trace,
                   const Prediction& prediction);

}  // namespace foretell::cli
