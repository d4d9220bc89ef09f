#include "src/features/node_costs.h"

#include <array>
#include <cmath>

#include "src/core/units.h"
#include "src/cost/launched_step.h"

namespace foretell::learned {
namespace {

/// One node, and what it runs on.
struct CostedNode {
  const NodeCost& cost;
  const DeviceSpec& device;
  double share = 0;  ///< Share of the time of all kernels.
  double bytes = 0;  ///< Read and written.
};

struct CostColumn {
  std::string_view name;
  double (*value)(const CostedNode&);
};

double IsBound(const CostedNode& node, CostBound bound) {
  return node.cost.bound == bound ? 1 : 0;
}

constexpr std::array<CostColumn, kNumNodeCosts> kColumns = {{
    {"gpu_us",
     [](const CostedNode& n) { return std::log2(1 + n.cost.gpu_us) / 16; }},
    {"share", [](const CostedNode& n) { return n.share; }},
    {"intensity",  // FLOP per byte.
     [](const CostedNode& n) {
       return std::log2((1 + n.cost.flops) / (1 + n.bytes)) / 10;
     }},
    {"bytes_over_l2",
     [](const CostedNode& n) {
       const double l2 = static_cast<double>(n.device.l2_mib) * kMiB;
       return l2 > 0 ? std::log2(1 + n.bytes / l2) / 8 : 0;
     }},
    {"dispatch_over_gpu",
     [](const CostedNode& n) {
       return std::log2((1 + n.cost.dispatch_us) / (1 + n.cost.gpu_us)) / 8;
     }},
    {"compute_bound",
     [](const CostedNode& n) { return IsBound(n, CostBound::kCompute); }},
    {"memory_bound",
     [](const CostedNode& n) { return IsBound(n, CostBound::kMemory); }},
    {"launch_bound",
     [](const CostedNode& n) { return IsBound(n, CostBound::kLaunch); }},
}};

}  // namespace

std::vector<std::string_view> NodeCostNames() {
  std::vector<std::string_view> names;
  for (const CostColumn& column : kColumns) names.push_back(column.name);
  return names;
}

NodeCosts NodeCostsOf(const OperatorGraph& graph, const DeviceSpec& device,
                      const CostOptions& options) {
  const CostEstimate estimate = cost::EstimateAtFullClock(
      cost::LaunchStep(graph, options), device, options);
  double busy_us = 0;
  for (const NodeCost& node : estimate.nodes) busy_us += node.gpu_us;
  NodeCosts costs;
  for (const NodeCost& node : estimate.nodes) {
    const CostedNode costed{.cost = node,
                            .device = device,
                            .share = busy_us > 0 ? node.gpu_us / busy_us : 0,
                            .bytes = node.bytes_read + node.bytes_written};
    costs.shares.push_back(static_cast<float>(costed.share));
    for (const CostColumn& column : kColumns) {
      costs.columns.push_back(static_cast<float>(column.value(costed)));
    }
  }
  return costs;
}

}  // namespace foretell::learned
