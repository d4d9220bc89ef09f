#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "foretell/prediction.h"

namespace foretell {

std::string Prediction::Method() const {
  const std::string& of_memory = (*this)[Target::kMemory].source.method;
  const std::string& of_latency = (*this)[Target::kLatency].source.method;
  const std::string& of_energy = (*this)[Target::kEnergy].source.method;
  if (of_memory == of_latency && of_latency == of_energy) return of_memory;
  return fmt::format("memory {}; latency {}; energy {}", of_memory, of_latency,
                     of_energy);
}

std::vector<std::string> Prediction::AllWarnings() const {
  std::vector<std::string> all = warnings;
  for (const Figure& figure : figures) {
    all.insert(all.end(), figure.warnings.begin(), figure.warnings.end());
  }
  return all;
}

mig::Demand ToDemand(const Prediction& prediction, std::string model) {
  const Figure& memory = prediction[Target::kMemory];
  const double latency_ms = prediction[Target::kLatency].value;
  const double energy_j = prediction[Target::kEnergy].value;
  mig::Demand demand{.model = std::move(model),
                     .total_mib = memory.value,
                     .lo_mib = memory.interval.lo,
                     .hi_mib = memory.interval.hi,
                     .cache_mib = prediction.cache_mib,
                     .latency_ms = latency_ms,
                     .energy_j = energy_j,
                     .gpus = prediction.gpus};
  for (const SliceRatio& slice : prediction.slices) {
    demand.slices.push_back({.profile = slice.profile,
                             .latency_ms = latency_ms * slice.latency,
                             .energy_j = energy_j * slice.energy,
                             .context_saved_mib = std::min(
                                 slice.context_saved_mib, memory.interval.lo)});
  }
  return demand;
}

}  // namespace foretell
