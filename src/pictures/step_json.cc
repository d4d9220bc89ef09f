#include "src/pictures/step_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/judge/report_json.h"
#include "src/pictures/device_json.h"
#include "src/pictures/kernel_points.h"
#include "src/pictures/module_costs.h"
#include "src/pictures/module_names.h"

namespace foretell::pictures {
namespace {

/// Modules that a picture has room for.
constexpr std::size_t kMostModules = 800;

}  // namespace

nlohmann::ordered_json StepToJson(const Report& report,
                                  const OperatorGraph& graph,
                                  const DeviceSpec& device,
                                  const TimelineLimits& limits) {
  const Prediction& prediction = report.prediction;
  const std::vector<std::string> of_nodes = ModulesOfNodes(graph);
  return {
      {"schema_version", kReportSchemaVersion},
      {"result", ReportToJson(report)},
      {"device", DeviceToJson(device)},
      {"memory_over_step",
       TimelineToJson(graph, MakeTimeline(graph, prediction.memory, limits),
                      ModulesOfStorages(graph, of_nodes))},
      {"modules",
       ModulesToJson(Merged(CostsByModule(graph, prediction.cost, of_nodes),
                            kMostModules))},
      {"kernels", KernelsToJson(graph, KernelPoints(graph, device, prediction),
                                of_nodes)}};
}

}  // namespace foretell::pictures
