#include "src/correct/scale_figure.h"

namespace foretell {
namespace {

void ScaleEnergy(double ratio, CostEstimate& cost) {
  cost.energy_j *= ratio;
  cost.static_energy_j *= ratio;
}

void ScaleLatency(double ratio, CostEstimate& cost) {
  for (double* part :
       {&cost.latency_ms, &cost.compute_ms, &cost.memory_ms, &cost.overhead_ms,
        &cost.gpu_ms, &cost.dispatch_ms, &cost.waiting_ms}) {
    *part *= ratio;
  }
}

/// Energy at the same power, unless it was learned on its own.
void FollowLatency(double ratio, Prediction& prediction) {
  Figure& energy = prediction[Target::kEnergy];
  if (energy.source.IsLearned()) return;
  energy.value *= ratio;
  Scale(energy.interval, ratio);
  ScaleEnergy(ratio, prediction.cost);
}

}  // namespace

void Scale(Interval& interval, double ratio) {
  interval.lo *= ratio;
  interval.hi *= ratio;
}

void ScaleCompanions(Target target, double ratio, Prediction& prediction) {
  if (target == Target::kLatency) {
    ScaleLatency(ratio, prediction.cost);
    FollowLatency(ratio, prediction);
  }
  if (target == Target::kEnergy) ScaleEnergy(ratio, prediction.cost);
}

}  // namespace foretell
