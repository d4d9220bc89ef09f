#include "src/judge/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

namespace foretell {
namespace {

/// `tensors`, or those of `graph` if it is empty.
std::vector<ReportTensor> OrOfGraph(std::vector<ReportTensor> tensors,
                                    const OperatorGraph& graph,
                                    std::span<const ValueId> ids) {
  if (!tensors.empty()) return tensors;
  for (const ValueId id : ids) {
    tensors.push_back({graph.value(id).name, graph.value(id).type});
  }
  return tensors;
}

/// "layer1.0.conv1 (conv2d)", or the operator alone outside any module.
std::string OperatorName(const OperatorGraph& graph, NodeId id) {
  if (id == kNone) return {};
  const Node& node = graph.node(id);
  return node.scope.empty() ? node.target
                            : fmt::format("{} ({})", node.scope, node.target);
}

Phase PhaseOf(const OperatorGraph& graph, NodeId id) {
  return id == kNone ? Phase::kForward : graph.node(id).phase;
}

std::optional<ReportParallel> ParallelOf(const OperatorGraph& graph) {
  const std::vector<CollectiveGroup> groups = GroupsOf(graph);
  if (groups.empty()) return std::nullopt;
  const auto is_exchange = [](const Node& node) {
    return CollectiveOf(node).has_value();
  };
  ReportParallel found{
      .gpus = GpusOf(groups),
      .batches = BatchesOf(groups),
      .exchanges = std::ranges::count_if(graph.nodes(), is_exchange),
      .layers = CountSharedLayers(graph)};
  for (const CollectiveGroup& one : groups) {
    found.plan += (found.plan.empty() ? "" : "+") + one.plan;
  }
  return found;
}

double MeanLatency(const std::vector<ReportPass>& passes) {
  double sum = 0;
  double runs = 0;
  for (const ReportPass& pass : passes) {
    sum += static_cast<double>(pass.runs) * pass.figures.latency_ms;
    runs += static_cast<double>(pass.runs);
  }
  return sum / runs;
}

}  // namespace

Report MakeReport(ReportedModel model, const OperatorGraph& graph,
                  Prediction prediction, mig::Recommendation recommendation,
                  const OperatorGraph* at_peak) {
  const OperatorGraph& peak = at_peak == nullptr ? graph : *at_peak;
  std::vector<std::string>& warnings = model.warnings;
  const std::vector<std::string> doubts = prediction.AllWarnings();
  warnings.insert(warnings.end(), doubts.begin(), doubts.end());
  Report report{
      .model = std::move(model.name),
      .format = std::move(model.format),
      .mode = graph.info().mode,
      .precision = graph.info().precision,
      .autocast = graph.info().autocast,
      .grad_mode = graph.info().grad_mode,
      .batch = graph.info().batch,
      .batches_per_step = model.batches_per_step,
      .optimizer = graph.info().optimizer,
      .loss = std::move(model.loss),
      .weights = std::move(model.weights),
      .parameters = graph.ParameterElements(),
      .operators = std::ssize(graph.nodes()),
      .onnx_runtime = model.onnx_runtime,
      .static_features = CountStaticFeatures(graph),
      .inputs = OrOfGraph(std::move(model.inputs), graph, graph.inputs()),
      .outputs = OrOfGraph(std::move(model.outputs), graph, graph.outputs()),
      .parallel = ParallelOf(graph),
      .passes = std::move(model.passes),
      .peak_operator = OperatorName(peak, prediction.memory.peak_node),
      .peak_phase = PhaseOf(peak, prediction.memory.peak_node),
      .warnings = std::move(warnings)};
  for (const LiveTensor& tensor : prediction.memory.largest_at_peak) {
    report.largest_at_peak.push_back(
        {tensor, OperatorName(peak, tensor.producer)});
  }
  if (model.has_lengths) report.mean_latency_ms = MeanLatency(report.passes);
  if (!report.peak_operator.empty() && !model.peak_pass.empty()) {
    report.peak_operator += fmt::format(" of {}", model.peak_pass);
  }
  report.prediction = std::move(prediction);
  report.recommendation = std::move(recommendation);
  return report;
}

}  // namespace foretell
