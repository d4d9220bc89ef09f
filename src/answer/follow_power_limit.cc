#include "src/answer/follow_power_limit.h"

#include "src/correct/scale_figure.h"

namespace foretell {
namespace {

void FollowRatio(Target target, double ratio, Prediction& prediction) {
  Figure& figure = prediction[target];
  if (!figure.source.IsLearned()) return;
  ScaleCompanions(target, ratio, prediction);
  figure.value *= ratio;
  Scale(figure.interval, ratio);
}

}  // namespace

void FollowPowerLimit(const cost::LaunchedStep& step, const DeviceSpec& device,
                      const CostOptions& options, Prediction& prediction) {
  CostOptions unlimited = options;
  unlimited.run.power_limit_w.reset();
  const CostEstimate before = EstimateLaunched(step, device, unlimited);
  const CostEstimate after = EstimateLaunched(step, device, options);
  if (!(before.latency_ms > 0)) return;
  FollowRatio(Target::kLatency, after.latency_ms / before.latency_ms,
              prediction);
  FollowRatio(Target::kEnergy, after.energy_j / before.energy_j, prediction);
}

}  // namespace foretell
