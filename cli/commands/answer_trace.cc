#include "cli/commands/answer_trace.h"

#include <optional>
#include <utility>

namespace foretell::cli {
namespace {

/// Empty where it is no question, where a trace is no matter of milliseconds,
/// and where one in grad mode is refused.
std::optional<double> MemoryInGradMode(const ModelOptions& model,
                                       const Predictor& predictor,
                                       const Prediction& prediction,
                                       const Program& program,
                                       const Trace& trace) {
  TraceOptions again = model.ToTraceOptions();
  const bool asks = again.mode == Mode::kInference && !again.grad_mode;
  if (!asks || again.device == TraceDevice::kCpu) return std::nullopt;
  again.grad_mode = true;
  try {
    const Trace recorded = TraceProgram(program, trace.inputs, again);
    return predictor.MemoryInGradMode(prediction, recorded.graph);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Report AnswerTrace(const Predictor& predictor, const ModelOptions& model,
                   const Program& program, const Trace& trace,
                   const AnswerOptions& options) {
  Prediction prediction = predictor.Predict(trace.graph);
  std::optional<double> grad_mode_mib;
  if (options.with_grad_mode) {
    grad_mode_mib =
        MemoryInGradMode(model, predictor, prediction, program, trace);
  }
  mig::Recommendation recommendation = mig::Recommend(
      ToDemand(prediction, program.name()), predictor.device(), options.mig);
  Report report = MakeReport(
      {program.name(), std::string(program.format()), trace.warnings},
      trace.graph, std::move(prediction), std::move(recommendation));
  report.grad_mode_mib = grad_mode_mib;
  return report;
}

}  // namespace foretell::cli
