#include "src/model/learned_figure.h"

#include <algorithm>
#include <cmath>

#include "src/core/text.h"
#include "src/core/units.h"

namespace foretell::model {
namespace {

/// The learned interval; without one, the present range in proportion.
Interval IntervalOf(const LearnedFigure& figure, Interval present,
                    double ratio) {
  return figure.interval.value_or(
      Interval{present.lo * ratio, present.hi * ratio});
}

void PutMemory(const LearnedFigure& figure, Prediction& prediction) {
  const auto bytes = [](double mib) {
    return std::llround(mib * static_cast<double>(kMiB));
  };
  MemoryBreakdown& memory = prediction.memory;
  prediction.memory_mib = IntervalOf(figure, prediction.memory_mib,
                                     figure.value / ToMiB(memory.total));
  memory.total = bytes(figure.value);
  memory.total_low = bytes(prediction.memory_mib.lo);
  memory.total_high = bytes(prediction.memory_mib.hi);
  prediction.memory_source = figure.source;
}

void ScaleEnergy(double ratio, Prediction& prediction) {
  for (double* part :
       {&prediction.cost.energy_j, &prediction.cost.static_energy_j,
        &prediction.energy_j, &prediction.energy_interval_j.lo,
        &prediction.energy_interval_j.hi}) {
    *part *= ratio;
  }
}

void PutLatency(const LearnedFigure& figure, Prediction& prediction) {
  const double ratio = figure.value / prediction.latency_ms;
  CostEstimate& cost = prediction.cost;
  for (double* part : {&cost.latency_ms, &cost.compute_ms, &cost.memory_ms,
                       &cost.overhead_ms}) {
    *part *= ratio;
  }
  // A learned energy stands for itself, whichever was put first.
  if (prediction.energy_source.trained_on.empty()) {
    ScaleEnergy(ratio, prediction);
  }
  prediction.latency_interval_ms =
      IntervalOf(figure, prediction.latency_interval_ms, ratio);
  prediction.latency_ms = figure.value;
  prediction.latency_source = figure.source;
}

void PutEnergy(const LearnedFigure& figure, Prediction& prediction) {
  ScaleEnergy(figure.value / prediction.energy_j, prediction);
  if (figure.interval) prediction.energy_interval_j = *figure.interval;
  prediction.energy_source = figure.source;
}

}  // namespace

bool LearnedFigure::IsFar() const {
  return source.distance && source.far_distance &&
         *source.distance > *source.far_distance;
}

std::string LearnedFigure::FarText() const {
  return "unlike the networks that were learned from (distance " +
         std::to_string(*source.distance) + ", 99 % of those are below " +
         std::to_string(*source.far_distance) + ")";
}

FigureSource SourceOf(const CheckpointInfo& info,
                      std::optional<double> distance) {
  return {.method = std::string("learned from ").append(Joined(info.sources)),
          .trained_on = info.devices,
          .distance = distance,
          .far_distance = info.far_distance};
}

void PutFigure(const LearnedFigure& figure, Prediction& prediction) {
  switch (figure.target) {
    case Target::kMemory:
      return PutMemory(figure, prediction);
    case Target::kLatency:
      return PutLatency(figure, prediction);
    case Target::kEnergy:
      return PutEnergy(figure, prediction);
  }
}

void WarnOf(const LearnedFigure& figure, const DeviceSpec& device,
            std::vector<std::string>& warnings) {
  const std::string name(TargetName(figure.target));
  if (figure.IsFar()) {
    warnings.push_back(name + ": " + figure.FarText() +
                       ": its interval need not hold");
  }
  if (!figure.interval) {
    warnings.push_back(name +
                       ": its network has no interval, for want of held-out "
                       "labels; the range is the analytic one in proportion");
  }
  const std::vector<std::string>& known = figure.source.trained_on;
  if (std::ranges::find(known, device.name) == known.end()) {
    warnings.push_back(name + ": no measurement of " + device.name +
                       " was learned from, only of " + Joined(known));
  }
}

}  // namespace foretell::model
