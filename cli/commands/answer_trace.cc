#include "cli/commands/answer_trace.h"

#include <optional>
#include <utility>

namespace foretell::cli {
namespace {

/// Memory of the step in grad mode; empty where such a trace is refused.
std::optional<double> MemoryInGradMode(
    const std::vector<TraceOptions>& in_grad_mode, const Predictor& predictor,
    const Prediction& prediction, const Program& program, const Trace& trace) {
  if (in_grad_mode.empty()) return std::nullopt;
  try {
    const Trace recorded =
        TraceProgram(program, trace.inputs, in_grad_mode.front());
    return predictor.MemoryInGradMode(prediction, recorded.graph);
  } catch (const Error&) {
    return std::nullopt;
  }
}

ReportedModel DescribeModel(const Program& program, const Trace& trace) {
  ReportedModel model{.name = program.name(),
                      .format = std::string(program.format()),
                      .warnings = trace.warnings,
                      .loss = trace.loss,
                      .weights = program.weight_elements()};
  for (const BoundInput& input : trace.inputs) {
    model.inputs.push_back({.name = input.name,
                            .type = input.type,
                            .on_host = !input.values.empty(),
                            .from_example = input.from_example});
  }
  for (const TraceOutput& output : trace.outputs) {
    model.outputs.push_back(
        {.name = output.name, .type = output.type, .on_host = output.on_host});
  }
  return model;
}

}  // namespace

std::vector<TraceOptions> TraceInGradMode(const ModelOptions& model) {
  TraceOptions again = model.ToTraceOptions();
  const bool asks = again.run.mode == Mode::kInference && !again.run.grad_mode;
  if (!asks || again.device == TraceDevice::kCpu) return {};
  again.run.grad_mode = true;
  return {again};
}

Report AnswerTrace(const Predictor& predictor, const Program& program,
                   const Trace& trace, const AnswerOptions& options) {
  Prediction prediction = predictor.Predict(trace.graph);
  const std::optional<double> grad_mode_mib = MemoryInGradMode(
      options.in_grad_mode, predictor, prediction, program, trace);
  mig::Recommendation recommendation = mig::Recommend(
      ToDemand(prediction, program.name()), predictor.device(), options.mig);
  Report report = MakeReport(DescribeModel(program, trace), trace.graph,
                             std::move(prediction), std::move(recommendation));
  report.grad_mode_mib = grad_mode_mib;
  return report;
}

void PrintWarnings(const Program& program, const Trace& trace,
                   const Prediction& prediction) {
  for (const std::string& warning : WarningsOf(trace, prediction)) {
    PrintWarning(program.name() + ": " + warning);
  }
}

}  // namespace foretell::cli
