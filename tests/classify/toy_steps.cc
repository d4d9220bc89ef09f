#include "tests/classify/toy_steps.h"

namespace foretell::classify {

LabelledStep ToyStep(double total_mib, std::int64_t layers) {
  LabelledStep step{.name = "toy", .set = "toys", .memory_mib = total_mib};
  step.inputs = {.batch = 4,
                 .parameters = 100,
                 .activation = ActivationFunction::kRelu,
                 .simulated = {.total_mib = total_mib,
                               .allocated_mib = total_mib - 500,
                               .workspace_mib = 8,
                               .tensors_mib = total_mib - 600,
                               .held_mib = total_mib}};
  for (std::int64_t i = 0; i < layers; ++i) {
    step.inputs.layers.push_back({LayerKind::kLinear, 10 * (i + 1), 30});
    step.inputs.activations += 10 * (i + 1);
  }
  return step;
}

std::vector<LabelledStep> ToySteps(int count) {
  std::vector<LabelledStep> steps;
  for (int i = 0; i < count; ++i) {
    steps.push_back(ToyStep(1000 + 8000.0 * i / (count - 1)));
  }
  return steps;
}

EnsembleInfo ToyInfo(EstimatorKind kind) {
  return {.classes = MemoryClasses({5000}),
          .kind = kind,
          .members = 2,
          .device = "a100-sxm4-40gb",
          .environment = "cuda12-eager"};
}

}  // namespace foretell::classify
