#pragma once

#include <string>

#include "cli/flags/model_options.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "src/predict/report.h"

namespace foretell::cli {

/// What an answer holds beside the prediction.
struct AnswerOptions {
  mig::RecommendOptions mig;
  /// Says what the step takes without torch.no_grad(), where that is a question
  /// and tracing once more a matter of milliseconds.
  bool with_grad_mode = true;
};

/// Everything that is said of `trace`, which is one of `program` as `model`
/// asks for it. Throws what Predict and mig::Recommend throw.
Report AnswerTrace(const Predictor& predictor, const ModelOptions& model,
                   const Program& program, const Trace& trace,
                   const AnswerOptions& options = {});

}  // namespace foretell::cli
