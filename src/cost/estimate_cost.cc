#include <algorithm>
#include <cstddef>
#include <span>

#include "foretell/cost.h"
#include "src/cost/dispatch.h"
#include "src/cost/kernel_launches.h"
#include "src/cost/kernel_time.h"
#include "src/cost/launched_step.h"
#include "src/cost/machine.h"
#include "src/cost/power.h"
#include "src/cost/timelines.h"
#include "src/cost/work_kind.h"
#include "src/kernels/kernels.h"

// Latency and energy of one eager step: the kernels that it launches, on two
// timelines.
//
//   start   = max(queued, previous kernel done)
//   latency = when CPU and GPU are both done
//
// An operator of many kernels queues them one by one (kernel_launches.h): the
// GPU runs the first while the CPU queues the others.
//
// A sum of kernel times would be far too low for small batches, where eager
// execution waits for the CPU; a sum of both would be too high for large ones,
// where the CPU runs ahead.
//
// GPUs that share a step exchange tensors on a third timeline. An exchange
// starts when what it sends is there and the one before it is done; a kernel
// that reads what comes of it starts no earlier than that.
//
// A power limit, the board's own or a lower one, acts on the average over many
// steps, so one clock is sought for the whole of a step: the highest at which
// its average power is within the limit.

namespace foretell {
namespace {

using cost::Kernel;
using cost::KernelTime;
using cost::Machine;
using cost::Timelines;

constexpr double kUsPerMs = 1e3;
constexpr double kUsPerS = 1e6;

/// Microseconds of a node's kernels by what bounds them.
struct BoundTimes {
  double compute_us = 0;
  double memory_us = 0;
  double launch_us = 0;

  void Add(const KernelTime& time, double count) {
    const double moving = time.conversion_us + time.memory_us;
    const double longest = std::max(time.arithmetic_us, moving);
    double& bound = time.launch_us >= longest     ? launch_us
                    : time.arithmetic_us > moving ? compute_us
                                                  : memory_us;
    bound += count * time.Us();
  }
  CostBound Largest() const {
    if (launch_us >= std::max(compute_us, memory_us)) return CostBound::kLaunch;
    return compute_us > memory_us ? CostBound::kCompute : CostBound::kMemory;
  }
};

/// Returns the microseconds of one launch.
double AddKernel(const Kernel& kernel, const Machine& machine, NodeCost& node,
                 BoundTimes& bounds) {
  const KernelTime time = cost::TimeAtClock(kernel, machine);
  const double us = time.Us() * machine.kernel_factor;
  const auto count = static_cast<double>(kernel.count);
  node.gpu_us += count * us;
  node.flops += count * 2 * static_cast<double>(kernel.macs);
  node.bytes_read +=
      count * static_cast<double>(kernel.bytes_in + kernel.bytes_weight);
  node.bytes_written += count * static_cast<double>(kernel.bytes_out);
  const double watts =
      cost::BusyPowerW(machine, cost::ActivityOf(kernel, time, machine));
  node.energy_j += count * watts * us / kUsPerS;
  bounds.Add(time, count);
  return us;
}

NodeCost CostOfNode(std::span<const Kernel> kernels,
                    const cost::NodeDispatch& dispatch,
                    const Machine& machine) {
  NodeCost result;
  BoundTimes bounds;
  std::vector<double> gpu_us;
  gpu_us.reserve(kernels.size());
  double longest_us = 0;
  for (const Kernel& kernel : kernels) {
    gpu_us.push_back(AddKernel(kernel, machine, result, bounds));
    const double us = gpu_us.back() * static_cast<double>(kernel.count);
    if (us > longest_us) {
      longest_us = us;
      result.work = cost::WorkKindOf(kernel);
    }
  }
  result.bound = bounds.Largest();
  result.dispatch_us = dispatch.first_us + dispatch.further.Us(kernels);
  result.launches =
      cost::LaunchesOf(kernels, gpu_us, dispatch.first_us, dispatch.further);
  return result;
}

/// The kernels that `node` launches: those at the front of `rest`, from which
/// they are removed.
std::span<const Kernel> TakeKernelsOf(NodeId node,
                                      std::span<const Kernel>& rest) {
  std::size_t count = 0;
  while (count < rest.size() && rest[count].node == node) ++count;
  const std::span<const Kernel> taken = rest.first(count);
  rest = rest.subspan(count);
  return taken;
}

/// The step as if nothing were exchanged.
double EndWithoutLink(const std::vector<NodeCost>& nodes) {
  Timelines timelines(nodes.size());
  for (NodeCost node : nodes) {
    node.waits_for.clear();
    node.link_us = 0;
    timelines.Run(node);
  }
  return timelines.EndUs();
}

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
  const bool has_link = std::ranges::any_of(
      result.nodes, [](const NodeCost& node) { return node.link_us > 0; });
  if (has_link) {
    result.exposed_link_ms =
        result.latency_ms - EndWithoutLink(result.nodes) / kUsPerMs;
  }
  result.overhead_ms =
      std::max(0.0, result.latency_ms - result.compute_ms - result.memory_ms);
  result.waiting_ms = std::max(0.0, result.latency_ms - result.gpu_ms);
  result.energy_j +=
      cost::WaitingPowerW(machine) * result.waiting_ms / kUsPerMs;
  result.static_energy_j =
      std::min(result.energy_j,
               cost::IdlePowerW(machine) * result.latency_ms / kUsPerMs);
  if (result.latency_ms > 0) {
    result.average_power_w = result.energy_j / result.latency_ms * kUsPerMs;
  }
}

CostEstimate EstimateOn(const cost::LaunchedStep& step, Machine machine,
                        const cost::LinkSpeeds& links) {
  const double engine_factor =
      step.engine ? cost::EngineFactor(*step.engine, *machine.device) : 1;
  std::span<const Kernel> rest = step.kernels;
  CostEstimate result;
  result.gpu_link.gb_s = links.between_gpus;
  result.host_link.gb_s = links.to_host;
  result.nodes.reserve(step.dispatch.size());
  Timelines timelines(step.dispatch.size());
  for (NodeId id = 0; id < std::ssize(step.dispatch); ++id) {
    const auto index = static_cast<std::size_t>(id);
    machine.kernel_factor = step.in_engine[index] ? engine_factor : 1;
    result.nodes.push_back(
        CostOfNode(TakeKernelsOf(id, rest), step.dispatch[index], machine));
    NodeCost& node = result.nodes.back();
    if (!step.links.empty()) {
      const cost::LinkUse& use = step.links[index];
      node.link_us = cost::LinkUs(use, links.Of(use));
      node.waits_for = step.links[index].waits_for;
      LinkFigures& link = use.is_of_host ? result.host_link : result.gpu_link;
      link.bytes += use.bytes;
      link.busy_ms += node.link_us / kUsPerMs;
    }
    timelines.Run(node);
  }
  AddTotals(machine, timelines, result);
  return result;
}

/// The step at the highest clock at which it keeps to the power limit.
CostEstimate EstimateThrottled(const cost::LaunchedStep& step,
                               const Machine& machine,
                               const cost::LinkSpeeds& links) {
  const auto at = [&](double clock) {
    return EstimateOn(step, machine.AtClock(clock), links);
  };
  return at(cost::HighestClock([&](double clock) {
    return at(clock).average_power_w <= cost::PowerLimitW(machine);
  }));
}

}  // namespace

cost::LaunchedStep cost::LaunchStep(const OperatorGraph& graph,
                                    const CostOptions& options) {
  return {.kernels = ExpandKernels(graph, options.run),
          .dispatch = DispatchOf(graph, options),
          .links = LinkUses(graph),
          .engine = EngineTraitsOf(graph),
          .in_engine = NodesWithEngineFactor(graph)};
}

CostEstimate cost::EstimateAtFullClock(const LaunchedStep& step,
                                       const DeviceSpec& device,
                                       const CostOptions& options) {
  return EstimateOn(step, MakeMachine(device, options),
                    SpeedsOf(device, options, step.links));
}

CostEstimate cost::EstimateLaunched(const LaunchedStep& step,
                                    const DeviceSpec& device,
                                    const CostOptions& options) {
  const CostEstimate result = EstimateAtFullClock(step, device, options);
  const Machine machine = MakeMachine(device, options);
  // Where the limit is no more than idle power, no clock keeps to it.
  if (device.max_power_w <= device.idle_power_w ||
      result.average_power_w <= PowerLimitW(machine)) {
    return result;
  }
  return EstimateThrottled(step, machine,
                           SpeedsOf(device, options, step.links));
}

CostEstimate cost::EstimateOnHost(const CostEstimate& estimate,
                                  const DeviceSpec& device,
                                  const CostOptions& options, double slowdown) {
  CostEstimate result{.nodes = estimate.nodes,
                      .gpu_link = estimate.gpu_link,
                      .host_link = estimate.host_link};
  Timelines timelines(result.nodes.size());
  for (NodeCost& node : result.nodes) {
    node.dispatch_us *= slowdown;
    for (KernelLaunch& launch : node.launches) launch.queued_us *= slowdown;
    timelines.Run(node);
  }
  AddTotals(MakeMachine(device, options), timelines, result);
  return result;
}

CostEstimate EstimateCost(const OperatorGraph& graph, const DeviceSpec& device,
                          const CostOptions& options) {
  cost::MakeMachine(device, options);  // Refuses bad options before any work.
  return cost::EstimateLaunched(cost::LaunchStep(graph, options), device,
                                options);
}

}  // namespace foretell
