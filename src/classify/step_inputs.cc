#include "src/classify/step_inputs.h"

#include <algorithm>

#include "src/core/units.h"
#include "src/memory/earlier_pass.h"

namespace foretell::classify {
namespace {

SimulatedMemory Simulate(const OperatorGraph& graph,
                         const MemoryOptions& options) {
  const MemoryBreakdown memory = SimulateMemory(graph, options);
  SimulatedMemory simulated{
      .total_mib = ToMiB(memory.total),
      .allocated_mib = ToMiB(memory.allocated_peak),
      .workspace_mib = ToMiB(memory.at_peak_workspace),
      .tensors_mib = ToMiB(memory.allocated_peak - memory.at_peak_workspace -
                           memory.at_peak_rounding)};
  const std::int64_t limit = options.device.usable_mib * kMiB;
  if (memory.total <= limit) {
    simulated.held_mib = simulated.total_mib;
  } else if (const auto held = MemoryWithin(graph, options, limit)) {
    simulated.held_mib = ToMiB(*held);
  }
  return simulated;
}

/// Makes the totals those of a process that ran a pass of `earlier` before.
void AddPass(const OperatorGraph& earlier, const OperatorGraph& graph,
             const MemoryOptions& options, SimulatedMemory& simulated) {
  const memory::HeldAfterPass held =
      memory::SimulateAfterPass(graph, earlier, options);
  simulated.total_mib = ToMiB(held.total);
  simulated.held_mib.reset();
  if (held.on_device) simulated.held_mib = ToMiB(*held.on_device);
}

}  // namespace

std::int64_t StepInputs::Count(LayerKind kind) const {
  return std::ranges::count(layers, kind, &Layer::kind);
}

StepInputs StepInputsOf(const OperatorGraph& graph,
                        const MemoryOptions& options,
                        const OperatorGraph* earlier) {
  StepInputs inputs{.batch = graph.info().batch,
                    .parameters = graph.ParameterElements(),
                    .activation = ActivationOf(graph),
                    .layers = LayersOf(graph),
                    .simulated = Simulate(graph, options)};
  if (earlier != nullptr) AddPass(*earlier, graph, options, inputs.simulated);
  for (const Layer& layer : inputs.layers) {
    inputs.activations += layer.activations;
  }
  return inputs;
}

}  // namespace foretell::classify
