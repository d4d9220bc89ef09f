#include <algorithm>
#include <cmath>

#include "foretell/cost.h"
#include "src/cost/arithmetic.h"
#include "src/cost/constants.h"
#include "src/cost/kind_table.h"
#include "src/cost/machine.h"
#include "src/cost/power.h"
#include "src/cost/upsample.h"
#include "src/cost/work.h"

// Latency and energy of one eager step: a roofline per node, two timelines for
// the step.
//
//   kernel time = launches * floor + max(arithmetic, traffic / bandwidth)
//   start       = max(dispatched, previous kernel done)
//   latency     = when CPU and GPU are both done
//
// A sum of kernel times would be far too low for small batches, where eager
// execution waits for the CPU; a sum of both would be too high for large ones,
// where the CPU runs ahead.

namespace foretell {
namespace {

using cost::Arithmetic;
using cost::KindCost;
using cost::Machine;
using cost::Work;

/// Shortest time of a kernel in a queue that never runs dry: 2.4 us for the
/// shortest measured ones on A100, 4.7 us fitted to matrix products.
constexpr double kKernelFloorUs = 3.0;
/// Forward operators also record the backward graph in training.
constexpr double kAutogradDispatchFactor = 1.5;
/// CPU time per tensor of a multi-tensor optimizer operator.
constexpr double kDispatchPerOptimizerTensorUs = 0.2;
constexpr double kUsPerMs = 1e3;
constexpr double kUsPerS = 1e6;

double DispatchUs(const OperatorGraph& graph, const Node& node,
                  const CostOptions& options) {
  double us = cost::CostOf(node.kind).dispatch_us;
  if (node.kind == OpKind::kOptimizerUpdate) {
    us +=
        kDispatchPerOptimizerTensorUs * static_cast<double>(node.inputs.size());
  }
  const bool records =
      graph.info().mode == Mode::kTraining && node.phase == Phase::kForward;
  return us * options.dispatch_scale * (records ? kAutogradDispatchFactor : 1);
}

/// Time that one thread's steps take, whatever the bandwidth: see SerialSteps.
double SerialUsOf(const OperatorGraph& graph, const Node& node,
                  const Machine& machine) {
  if (node.kind != OpKind::kUpsample || node.outputs.empty()) return 0;
  const std::vector<std::int64_t>& shape =
      graph.value(node.outputs.front()).type.shape;
  const std::int64_t steps =
      cost::SerialSteps(node, shape, /*channels_last=*/false);
  if (steps == 0) return 0;
  const std::int64_t positions =
      graph.value(node.outputs.front()).type.NumElements() / steps;
  return cost::SerialUs(steps, positions, machine.sms);
}

CostBound BoundOf(double arithmetic_us, double memory_us, double launch_us) {
  if (launch_us >= std::max(arithmetic_us, memory_us)) {
    return CostBound::kLaunch;
  }
  return arithmetic_us > memory_us ? CostBound::kCompute : CostBound::kMemory;
}

NodeCost CostOfNode(const OperatorGraph& graph, const Node& node,
                    const Machine& machine, const CostOptions& options) {
  NodeCost result{.dispatch_us = DispatchUs(graph, node, options)};
  const Work work = cost::WorkOf(graph, node);
  if (!work.has_kernel) return result;
  result.flops = work.flops;
  result.bytes_read = work.bytes_read;
  result.bytes_written = work.bytes_written;
  const Arithmetic arithmetic =
      cost::ArithmeticOf(graph, node, work.flops, machine);
  const double traffic_us =
      (work.bytes_read + work.bytes_written) / machine.bytes_per_us;
  const double memory_us =
      std::max(traffic_us / cost::CostOf(node.kind).memory_efficiency,
               SerialUsOf(graph, node, machine));
  const double launch_us = work.kernels * kKernelFloorUs;
  result.gpu_us = launch_us + std::max(arithmetic.us, memory_us);
  result.bound = BoundOf(arithmetic.us, memory_us, launch_us);
  const double watts =
      cost::BusyPowerW(machine, arithmetic.at_peak_us / result.gpu_us,
                       std::min(1.0, traffic_us / result.gpu_us));
  result.energy_j = watts * result.gpu_us / kUsPerS;
  return result;
}

/// CPU and GPU time so far, in microseconds.
struct Timelines {
  double cpu_us = 0;
  double gpu_us = 0;

  void Run(const NodeCost& node) {
    cpu_us += node.dispatch_us;
    if (node.gpu_us > 0) gpu_us = std::max(cpu_us, gpu_us) + node.gpu_us;
  }
  double EndUs() const { return std::max(cpu_us, gpu_us); }
};

void AddTotals(const Machine& machine, const Timelines& timelines,
               CostEstimate& result) {
  for (const NodeCost& node : result.nodes) {
    result.dispatch_ms += node.dispatch_us / kUsPerMs;
    result.gpu_ms += node.gpu_us / kUsPerMs;
    result.energy_j += node.energy_j;
    if (node.bound == CostBound::kCompute) {
      result.compute_ms += node.gpu_us / kUsPerMs;
    } else if (node.bound == CostBound::kMemory) {
      result.memory_ms += node.gpu_us / kUsPerMs;
    }
  }
  result.latency_ms = timelines.EndUs() / kUsPerMs;
  result.overhead_ms =
      std::max(0.0, result.latency_ms - result.compute_ms - result.memory_ms);
  const double gap_ms = std::max(0.0, result.latency_ms - result.gpu_ms);
  result.energy_j += cost::GapPowerW(machine) * gap_ms / kUsPerMs;
  result.static_energy_j =
      std::min(result.energy_j,
               cost::IdlePowerW(machine) * result.latency_ms / kUsPerMs);
  if (result.latency_ms > 0) {
    result.average_power_w = result.energy_j / result.latency_ms * kUsPerMs;
  }
}

}  // namespace

std::string_view CostBoundName(CostBound bound) {
  switch (bound) {
    case CostBound::kCompute:
      return "compute";
    case CostBound::kMemory:
      return "memory";
    case CostBound::kLaunch:
      return "launch";
  }
  return "launch";
}

CostEstimate EstimateCost(const OperatorGraph& graph, const DeviceSpec& device,
                          const CostOptions& options) {
  const Machine machine = cost::MakeMachine(device, options);
  CostEstimate result;
  result.nodes.reserve(graph.nodes().size());
  Timelines timelines;
  const std::vector<bool> varying = cost::VaryingValues(graph);
  for (const Node& node : graph.nodes()) {
    result.nodes.push_back(cost::IsConstantTable(graph, node, varying)
                               ? NodeCost{}
                               : CostOfNode(graph, node, machine, options));
    timelines.Run(result.nodes.back());
  }
  AddTotals(machine, timelines, result);
  return result;
}

}  // namespace foretell
