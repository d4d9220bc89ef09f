#include "src/answer/sum_of_passes.h"

#include <algorithm>
#include <cstddef>

namespace foretell {
namespace {

constexpr double CostEstimate::*kAdditive[] = {
    &CostEstimate::latency_ms,     &CostEstimate::dispatch_ms,
    &CostEstimate::gpu_ms,         &CostEstimate::compute_ms,
    &CostEstimate::memory_ms,      &CostEstimate::overhead_ms,
    &CostEstimate::waiting_ms,     &CostEstimate::energy_j,
    &CostEstimate::static_energy_j};

constexpr double kMsPerSecond = 1e3;

/// `to` becomes the mean of both, weighted by the figures of `target`.
void AddRatio(const Prediction& pass, const Prediction& sum, Target target,
              double from, double& to) {
  const double before = sum[target].value;
  const double more = pass[target].value;
  if (before + more > 0) to = (to * before + from * more) / (before + more);
}

void AddFigure(const Figure& figure, Figure& sum) {
  sum.value += figure.value;
  sum.interval.lo += figure.interval.lo;
  sum.interval.hi += figure.interval.hi;
}

}  // namespace

void AddTimes(const Prediction& pass, Prediction& sum) {
  // One device has the same profiles in every prediction.
  for (std::size_t i = 0; i < sum.slices.size(); ++i) {
    SliceRatio& slice = sum.slices[i];
    AddRatio(pass, sum, Target::kLatency, pass.slices[i].latency,
             slice.latency);
    AddRatio(pass, sum, Target::kEnergy, pass.slices[i].energy, slice.energy);
  }
  const Figure& latency = pass[Target::kLatency];
  if (latency.value > sum[Target::kLatency].value) sum.bound = pass.bound;
  AddFigure(latency, sum[Target::kLatency]);
  AddFigure(pass[Target::kEnergy], sum[Target::kEnergy]);
  for (double CostEstimate::*const part : kAdditive) {
    sum.cost.*part += pass.cost.*part;
  }
  if (sum.cost.latency_ms > 0) {
    sum.cost.average_power_w =
        kMsPerSecond * sum.cost.energy_j / sum.cost.latency_ms;
  }
  for (const std::string& warning : pass.AllWarnings()) {
    const bool is_known = std::ranges::count(sum.AllWarnings(), warning) > 0;
    if (!is_known) sum.warnings.push_back(warning);
  }
}

}  // namespace foretell
