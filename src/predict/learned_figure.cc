#include "src/predict/learned_figure.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/text.h"

namespace foretell::learned {
namespace {

void Scale(Interval& interval, double ratio) {
  interval.lo *= ratio;
  interval.hi *= ratio;
}

/// Value and source; the range in proportion where none was learned.
void Replace(const LearnedFigure& learned, Figure& figure) {
  const double ratio = learned.value / figure.value;
  Scale(figure.interval, ratio);
  if (learned.interval) figure.interval = *learned.interval;
  figure.value = learned.value;
  figure.source = learned.source;
}

void ScaleEnergy(double ratio, CostEstimate& cost) {
  cost.energy_j *= ratio;
  cost.static_energy_j *= ratio;
}

void ScaleLatency(double ratio, CostEstimate& cost) {
  for (double* part : {&cost.latency_ms, &cost.compute_ms, &cost.memory_ms,
                       &cost.overhead_ms}) {
    *part *= ratio;
  }
}

/// Energy at the same power, unless it was learned and stands for itself.
void FollowLatency(double ratio, Prediction& prediction) {
  Figure& energy = prediction[Target::kEnergy];
  if (energy.source.IsLearned()) return;
  energy.value *= ratio;
  Scale(energy.interval, ratio);
  ScaleEnergy(ratio, prediction.cost);
}

}  // namespace

std::string LearnedFigure::FarText() const {
  return fmt::format(
      "unlike the networks that were learned from (distance {:f}, 99 % of "
      "those "
      "are below {:f})",
      *source.distance, *source.far_distance);
}

FigureSource SourceOf(const CheckpointInfo& info,
                      std::optional<double> distance) {
  return {.method = std::string("learned from ").append(Joined(info.sources)),
          .trained_on = info.devices,
          .distance = distance,
          .far_distance = info.far_distance};
}

void PutFigure(const LearnedFigure& figure, Prediction& prediction) {
  Figure& present = prediction[figure.target];
  const double ratio = figure.value / present.value;
  if (figure.target == Target::kLatency) {
    ScaleLatency(ratio, prediction.cost);
    FollowLatency(ratio, prediction);
  }
  if (figure.target == Target::kEnergy) ScaleEnergy(ratio, prediction.cost);
  Replace(figure, present);
}

void WarnOf(const LearnedFigure& figure, const DeviceSpec& device,
            std::vector<std::string>& warnings) {
  const std::string name(TargetName(figure.target));
  if (figure.source.IsFar()) {
    warnings.push_back(fmt::format("{}: {}: its interval need not hold", name,
                                   figure.FarText()));
  }
  if (!figure.interval) {
    warnings.push_back(name +
                       ": its network has no interval, for want of held-out "
                       "labels; the range is the analytic one in proportion");
  }
  const std::vector<std::string>& known = figure.source.trained_on;
  if (std::ranges::find(known, device.name) == known.end()) {
    warnings.push_back(
        fmt::format("{}: no measurement of {} was learned from, only of {}",
                    name, device.name, Joined(known)));
  }
}

}  // namespace foretell::learned
