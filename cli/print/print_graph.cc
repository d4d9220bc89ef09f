#include "cli/print/print_graph.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/print/print_report.h"
#include "foretell/features.h"
#include "foretell/graph_io.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/text_table.h"
#include "src/core/units.h"
#include "src/judge/report_json.h"
#include "src/pictures/module_costs.h"

namespace foretell::cli {
namespace {

std::string ResultOf(const OperatorGraph& graph, const Node& node) {
  if (node.outputs.empty()) return "";
  std::string text = ToString(graph.value(node.outputs.front()).type);
  if (node.outputs.size() > 1) {
    text += fmt::format(" +{}", node.outputs.size() - 1);
  }
  return text;
}

std::string Totals(const OperatorGraph& graph, const MemoryBreakdown& memory) {
  return fmt::format(
      "\n{}, {} parameters, {} MACs; peak {} MiB allocated, {} MiB reserved\n",
      Counted(graph.nodes().size(), "operator"),
      FormatCount(graph.ParameterElements()), FormatCount(graph.ForwardMacs()),
      FormatSignificant(ToMiB(memory.allocated_peak)),
      FormatSignificant(ToMiB(memory.reserved_peak)));
}

/// How the linear layers of a graph of tensor parallelism are shared.
std::string SharedLayersLine(const OperatorGraph& graph) {
  const std::optional<SharedLayerCounts> layers = CountSharedLayers(graph);
  return layers ? fmt::format("linear layers: {}\n", SharedLayersText(*layers))
                : "";
}

std::string LargestTensors(const MemoryBreakdown& memory) {
  TextTable table({"alive at the peak", "role", "type", "MiB"});
  for (const LiveTensor& tensor : memory.largest_at_peak) {
    table.AddRow({tensor.label, std::string(TensorRoleName(tensor.role)),
                  tensor.type ? ToString(*tensor.type) : "",
                  FormatSignificant(ToMiB(tensor.bytes))});
  }
  return "\n" + table.ToString();
}

/// "a100: memory 586 MiB (analytic, uncalibrated), latency 1.21 ms (…".
std::string Figures(const Prediction& prediction) {
  std::string text = prediction.device + ":";
  std::string_view before = " ";
  for (const Target target : kAllTargets) {
    const Figure& figure = prediction[target];
    text += fmt::format("{}{} {} {} ({})", before, TargetName(target),
                        FormatSignificant(figure.value), TargetUnit(target),
                        figure.source.method);
    before = ", ";
  }
  return text + "\n";
}

void AddModule(const pictures::ModuleTree& module, std::size_t depth,
               TextTable& table) {
  const pictures::ModuleCost& cost = module.cost;
  table.AddRow(
      {std::string(2 * depth, ' ') + (depth == 0 ? "(network)" : module.name),
       cost.parameters == 0 ? "" : FormatCount(cost.parameters),
       cost.macs == 0 ? "" : FormatCount(cost.macs),
       FormatSignificant(ToMiB(cost.parameter_bytes)),
       FormatSignificant(ToMiB(cost.result_bytes)),
       FormatSignificant(cost.gpu_us)});
  for (const pictures::ModuleTree& nested : module.nested) {
    AddModule(nested, depth + 1, table);
  }
}

nlohmann::ordered_json CostJson(const CostEstimate& cost) {
  auto list = nlohmann::ordered_json::array();
  for (const NodeCost& node : cost.nodes) {
    list.push_back({{"gpu_us", node.gpu_us},
                    {"dispatch_us", node.dispatch_us},
                    {"work", WorkKindName(node.work)},
                    {"energy_j", node.energy_j}});
  }
  return list;
}

nlohmann::ordered_json TimelineJson(const MemoryBreakdown& memory) {
  auto list = nlohmann::ordered_json::array();
  for (const NodeMemory& node : memory.timeline) {
    list.push_back({{"peak_allocated", node.peak_allocated},
                    {"allocated_after", node.allocated_after},
                    {"reserved_after", node.reserved_after}});
  }
  return list;
}

}  // namespace

std::string FormatGraphTable(const OperatorGraph& graph,
                             const Prediction& prediction) {
  const MemoryBreakdown& memory = prediction.memory;
  TextTable table({"operator", "#", "phase", "module", "result", "MACs",
                   "live MiB", "GPU us"});
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    table.AddRow({node.target, fmt::format("{}", i),
                  std::string(PhaseName(node.phase)), node.scope,
                  ResultOf(graph, node),
                  node.macs == 0 ? "" : FormatCount(node.macs),
                  FormatSignificant(ToMiB(memory.timeline[i].allocated_after)),
                  FormatSignificant(prediction.cost.nodes[i].gpu_us)});
  }
  return table.ToString() + Totals(graph, memory) + SharedLayersLine(graph) +
         Figures(prediction) + LargestTensors(memory);
}

std::string FormatModuleTree(const OperatorGraph& graph,
                             const Prediction& prediction) {
  TextTable table({"module", "parameters", "MACs", "parameter MiB",
                   "result MiB", "GPU us"});
  AddModule(pictures::TreeOfModules(graph, prediction.cost), 0, table);
  return table.ToString() + Totals(graph, prediction.memory) +
         Figures(prediction);
}

std::string FormatGraphJson(const OperatorGraph& graph,
                            const Prediction& prediction,
                            const std::vector<std::string>& warnings) {
  const MemoryBreakdown& memory = prediction.memory;
  auto json = nlohmann::ordered_json::parse(GraphToJson(graph));
  const StaticFeatures features = CountStaticFeatures(graph);
  json["parameters"] = graph.ParameterElements();
  json["macs"] = graph.ForwardMacs();
  json["static_features"] = {{"macs", features.macs},
                             {"batch", features.batch},
                             {"convolutions", features.convolutions},
                             {"dense", features.dense},
                             {"relus", features.relus}};
  json["memory"] = {{"allocated_peak", memory.allocated_peak},
                    {"reserved_peak", memory.reserved_peak},
                    {"timeline", TimelineJson(memory)}};
  json["device"] = prediction.device;
  json["cost"] = CostJson(prediction.cost);
  for (const Target target : kAllTargets) {
    json["figures"][std::string(TargetField(target))] =
        FigureToJson(prediction[target]);
  }
  if (const auto layers = CountSharedLayers(graph)) {
    json["shared_layers"] = SharedLayersToJson(*layers);
  }
  json["warnings"] = warnings;
  return DumpJson(json) + "\n";
}

}  // namespace foretell::cli
