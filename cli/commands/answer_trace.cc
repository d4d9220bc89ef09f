#include "cli/commands/answer_trace.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "src/runtime/onnxruntime/optimize.h"

namespace foretell::cli {
namespace {

/// Memory of the step in grad mode; empty where such a trace is refused.
std::optional<double> MemoryInGradMode(const std::optional<Run>& in_grad_mode,
                                       const Predictor& predictor,
                                       const Prediction& prediction,
                                       const Session& session) {
  if (!in_grad_mode || session.plan() != nullptr) return std::nullopt;
  try {
    return predictor.MemoryInGradMode(prediction,
                                      session.Graph({.run = in_grad_mode}));
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Without views.
std::int64_t CountOperators(const OperatorGraph& graph) {
  return std::ranges::count_if(graph.nodes(), [](const Node& node) {
    return node.kind != OpKind::kView;
  });
}

/// The passes of the session's plan, each once, by their first run.
std::vector<ReportPass> PassesOf(Session& session,
                                 const Prediction& prediction) {
  const PassPlan& plan = *session.plan();
  std::map<std::size_t, std::size_t> places;
  std::vector<ReportPass> passes;
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    const std::size_t number = plan.order[i];
    const auto [place, is_new] = places.emplace(number, passes.size());
    if (is_new) {
      const GraphInfo& info = session.StepOfPass(number).graph.info();
      passes.push_back({.label = plan.LabelOf(number),
                        .mode = info.mode,
                        .batch = info.batch,
                        .figures = prediction.passes[i]});
    }
    ReportPass& pass = passes[place->second];
    ++pass.runs;
    pass.allocated_peak = std::max(pass.allocated_peak,
                                   prediction.memory.passes[i].allocated_peak);
  }
  return passes;
}

/// Empty unless PyTorch is predicted for an ONNX file that ONNX Runtime could
/// run as well.
std::optional<ReportOrt> CompareWithOrt(const Program& program,
                                        const OperatorGraph& graph) {
  if (program.format() != "onnx" || graph.info().mode != Mode::kInference ||
      graph.info().runtime.runtime != Runtime::kEager) {
    return std::nullopt;
  }
  try {
    const OperatorGraph there = runtime::OptimizeForOnnxRuntime(
        graph, {.runtime = Runtime::kOnnxRuntime});
    return ReportOrt{.operators = CountOperators(there),
                     .eager = CountOperators(graph)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

ReportedModel DescribeModel(const Program& program, const Trace& trace) {
  ReportedModel model{.name = program.name(),
                      .format = std::string(program.format()),
                      .warnings = trace.warnings,
                      .loss = trace.loss,
                      .weights = program.weight_elements(),
                      .onnx_runtime = CompareWithOrt(program, trace.graph)};
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
  const PassPlan* const plan = session.plan();
  ReportedModel model = DescribeModel(session.program(), trace);
  if (trace.graph.info().mode == Mode::kTraining) {
    model.batches_per_step = session.request().options.loop.accumulation;
  }
  const OperatorGraph* at_peak = &trace.graph;
  if (plan != nullptr) {
    const std::size_t peak = plan->order[answer.prediction.memory.peak_pass];
    model.peak_pass = plan->LabelOf(peak);
    model.passes = PassesOf(session, answer.prediction);
    model.has_lengths = plan->kind == RunKind::kLengths;
    at_peak = &session.StepOfPass(peak).graph;
  }
  Report report =
      MakeReport(std::move(model), trace.graph, std::move(answer.prediction),
                 std::move(answer.placement), at_peak);
  report.grad_mode_mib = grad_mode_mib;
  return report;
}

void PrintWarnings(Session& session, const Prediction& prediction) {
  for (const std::string& warning : WarningsOf(session.Step(), prediction)) {
    PrintWarning(session.program().name() + ": " + warning);
  }
}

}  // namespace foretell::cli
