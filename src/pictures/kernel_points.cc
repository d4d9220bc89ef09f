#include "src/pictures/kernel_points.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "src/cost/kernel_time.h"
#include "src/cost/launched_step.h"
#include "src/cost/machine.h"
#include "src/pictures/picture_json.h"

namespace foretell::pictures {
namespace {

using cost::Kernel;
using Json = nlohmann::ordered_json;

constexpr double kBytesPerMib = 1024.0 * 1024.0;

double OperationsOf(const Kernel& kernel) {
  if (kernel.macs > 0) return 2 * cost::Real(kernel.macs);
  return cost::Real(kernel.bytes_out) /
         cost::Real(std::max<std::int64_t>(kernel.element_bytes_out, 1));
}

/// Time of the step's operators over the time of their kernels at full clock:
/// 1 except under a power limit.
std::vector<double> Stretch(std::span<const Kernel> kernels,
                            const cost::Machine& machine,
                            const CostEstimate& estimate) {
  std::vector<double> stretch(estimate.nodes.size());
  for (const Kernel& kernel : kernels) {
    stretch[Index(kernel.node)] +=
        cost::Real(kernel.count) * cost::TimeOf(kernel, machine).Us();
  }
  for (std::size_t i = 0; i < stretch.size(); ++i) {
    stretch[i] = stretch[i] > 0 ? estimate.nodes[i].gpu_us / stretch[i] : 1;
  }
  return stretch;
}

}  // namespace

std::vector<KernelPoint> KernelPoints(const OperatorGraph& graph,
                                      const DeviceSpec& device,
                                      const Prediction& prediction) {
  const CostOptions options = {.host_factor = prediction.host.factor,
                               .run = prediction.run};
  const std::vector<Kernel> kernels = cost::ExpandKernels(graph, options.run);
  const cost::Machine machine = cost::MakeMachine(device, options);
  const std::vector<double> stretch =
      Stretch(kernels, machine, prediction.cost);
  std::map<Kernel, KernelPoint> points;
  for (const Kernel& kernel : kernels) {
    KernelPoint& point = points[cost::WorkOf(kernel)];
    if (point.count == 0) point.kernel = kernel;
    const double count = cost::Real(kernel.count);
    const double us =
        cost::TimeOf(kernel, machine).Us() * stretch[Index(kernel.node)];
    point.us = (point.us * point.count + us * count) / (point.count + count);
    point.count += count;
    point.operations = OperationsOf(kernel);
    point.bytes = cost::Real(kernel.Bytes());
  }
  std::vector<KernelPoint> list;
  for (auto& [work, point] : points) list.push_back(point);
  std::ranges::stable_sort(list, std::greater{}, [](const KernelPoint& point) {
    return point.us * point.count;
  });
  return list;
}

Json KernelsToJson(const OperatorGraph& graph,
                   const std::vector<KernelPoint>& points,
                   const std::vector<std::string>& modules, std::size_t most) {
  Json columns;
  Json rest = {{"kernels", 0}, {"us", 0.0}};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const KernelPoint& point = points[i];
    if (i >= most) {
      rest["kernels"] = i - most + 1;
      rest["us"] = rest["us"].get<double>() + point.us * point.count;
      continue;
    }
    const auto node = Index(point.kernel.node);
    columns["kernel"].push_back(KernelClassName(point.kernel.kernel_class));
    columns["operator"].push_back(Clipped(graph.nodes()[node].target));
    columns["module"].push_back(Clipped(modules[node]));
    columns["arithmetic"].push_back(
        point.kernel.macs > 0 ? Json(PrecisionName(point.kernel.arithmetic))
                              : Json());
    columns["count"].push_back(point.count);
    columns["operations"].push_back(Brief(point.operations));
    columns["mib"].push_back(Brief(point.bytes / kBytesPerMib));
    columns["us"].push_back(Brief(point.us));
  }
  return {{"shown", std::move(columns)}, {"rest", std::move(rest)}};
}

}  // namespace foretell::pictures
