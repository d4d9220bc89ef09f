#include "src/answer/pipeline_figures.h"

#include <algorithm>
#include <vector>

#include "src/core/units.h"
#include "src/cost/launched_step.h"
#include "src/cost/machine.h"
#include "src/cost/pipeline_time.h"
#include "src/cost/power.h"

namespace foretell {
namespace {

constexpr double kUsPerMillisecond = 1e3;
constexpr double kMsPerSecondOfStep = 1e3;

void ScaleFigure(double ratio, Figure& figure) {
  figure.value *= ratio;
  figure.interval.lo *= ratio;
  figure.interval.hi *= ratio;
}

/// The GPU's own work takes as long as before; it waits for the rest.
void Stretch(double latency_ms, const DeviceSpec& device,
             const CostOptions& options, Prediction& prediction) {
  CostEstimate& cost = prediction.cost;
  const double more_ms = std::max(0.0, latency_ms - cost.latency_ms);
  if (!(cost.latency_ms > 0)) return;
  const cost::Machine machine = cost::MakeMachine(device, options);
  const double more_j =
      cost::WaitingPowerW(machine) * more_ms / kMsPerSecondOfStep;
  ScaleFigure(1 + more_ms / cost.latency_ms, prediction[Target::kLatency]);
  if (cost.energy_j > 0) {
    ScaleFigure(1 + more_j / cost.energy_j, prediction[Target::kEnergy]);
  }
  cost.bubble_ms = more_ms;
  cost.latency_ms += more_ms;
  cost.waiting_ms += more_ms;
  cost.overhead_ms += more_ms;
  cost.energy_j += more_j;
  cost.static_energy_j +=
      cost::IdlePowerW(machine) * more_ms / kMsPerSecondOfStep;
  cost.average_power_w = cost.energy_j / cost.latency_ms * kMsPerSecondOfStep;
}

}  // namespace

void PutPipeline(
    const OperatorGraph& graph, const DeviceSpec& device,
    const CostOptions& options,
    const std::function<MemoryBreakdown(const OperatorGraph&)>& memory_of,
    Prediction& prediction) {
  const std::span<const PipelineGpu> gpus = graph.pipeline();
  if (gpus.empty()) return;
  std::vector<CostEstimate> estimates;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const bool is_own = i == graph.pipeline_gpu();
    const OperatorGraph& one = gpus[i].graph;
    estimates.push_back(
        is_own ? prediction.cost
               : cost::EstimateLaunched(cost::LaunchStep(one, options), device,
                                        options));
    const MemoryBreakdown memory = is_own ? prediction.memory : memory_of(one);
    prediction.stages.push_back({.blocks = gpus[i].blocks,
                                 .in_flight = gpus[i].in_flight,
                                 .memory_mib = ToMiB(memory.total),
                                 .busy_ms = estimates.back().latency_ms});
  }
  prediction.stage = graph.pipeline_gpu();
  const std::vector<double> ends_us = cost::PipelineEndsUs(gpus, estimates);
  Stretch(std::ranges::max(ends_us) / kUsPerMillisecond, device, options,
          prediction);
}

}  // namespace foretell
