#include "cli/commands/answer_trace.h"

#include <optional>
#include <utility>

namespace foretell::cli {
namespace {

/// Memory of the step in grad mode; empty where such a trace is refused.
std::optional<double> MemoryInGradMode(const std::optional<Run>& in_grad_mode,
                                       const Predictor& predictor,
                                       const Prediction& prediction,
                                       const Session& session) {
  if (!in_grad_mode) return std::nullopt;
  try {
    return predictor.MemoryInGradMode(prediction,
                                      session.Graph({.run = in_grad_mode}));
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

std::optional<Run> RunInGradMode(const ModelOptions& model) {
  Run again = model.run;
  const bool asks = again.mode == Mode::kInference && !again.grad_mode;
  if (!asks || model.DeviceOfTrace() == TraceDevice::kCpu) return std::nullopt;
  again.grad_mode = true;
  return again;
}

Report AnswerStep(const Predictor& predictor, Session& session,
                  const std::optional<Run>& in_grad_mode,
                  const mig::RecommendOptions& mig) {
  Answer answer = session.Ask(predictor, mig);
  const std::optional<double> grad_mode_mib =
      MemoryInGradMode(in_grad_mode, predictor, answer.prediction, session);
  const Trace& trace = session.Step();
  Report report =
      MakeReport(DescribeModel(session.program(), trace), trace.graph,
                 std::move(answer.prediction), std::move(answer.placement));
  report.grad_mode_mib = grad_mode_mib;
  return report;
}

void PrintWarnings(Session& session, const Prediction& prediction) {
  for (const std::string& warning : WarningsOf(session.Step(), prediction)) {
    PrintWarning(session.program().name() + ": " + warning);
  }
}

}  // namespace foretell::cli
