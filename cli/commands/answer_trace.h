#pragma once

#include <string>
#include <vector>

#include "cli/flags/model_options.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "src/predict/report.h"

namespace foretell::cli {

/// What an answer holds beside the prediction.
struct AnswerOptions {
  mig::RecommendOptions mig;
  /// TraceInGradMode's, to say what the step takes without torch.no_grad().
  std::vector<TraceOptions> in_grad_mode;
};

/// A second trace of what `model` asks for, as where nobody writes
/// torch.no_grad(). None where that is no question, and where a trace is no
/// matter of milliseconds.
std::vector<TraceOptions> TraceInGradMode(const ModelOptions& model);

/// Everything that is said of `trace`, which is one of `program`. Throws what
/// Predict and mig::Recommend throw.
Report AnswerTrace(const Predictor& predictor, const Program& program,
                   const Trace& trace, const AnswerOptions& options);

/// All that is to be said of the answer beside its figures: warnings of the
/// frontend and the trace, then those of the prediction.
std::vector<std::string> WarningsOf(const Trace& trace,
                                    const Prediction& prediction);

/// Prints them on stderr, behind the name of the program.
void PrintWarnings(const Program& program, const Trace& trace,
                   const Prediction& prediction);

}  // namespace foretell::cli
