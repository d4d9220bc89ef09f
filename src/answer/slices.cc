#include "src/answer/slices.h"

namespace foretell {
namespace {

/// `part / whole`; 1 for a step that costs nothing at all.
double Ratio(double part, double whole) {
  return whole > 0 ? part / whole : 1.0;
}

bool IsSameMachine(const MigProfile& a, const MigProfile& b) {
  return a.sms == b.sms && a.bandwidth_fraction == b.bandwidth_fraction;
}

SliceRatio Compare(const cost::LaunchedStep& step, const DeviceSpec& device,
                   const MigProfile& profile, CostOptions options,
                   const CostEstimate& whole) {
  options.sms = profile.sms;
  options.bandwidth_fraction = profile.bandwidth_fraction;
  const CostEstimate slice = EstimateLaunched(step, device, options);
  return {.profile = profile.name,
          .latency = Ratio(slice.latency_ms, whole.latency_ms),
          .energy = Ratio(slice.energy_j, whole.energy_j)};
}

}  // namespace

std::vector<SliceRatio> CompareSlices(const cost::LaunchedStep& step,
                                      const DeviceSpec& device,
                                      const CostOptions& options,
                                      const CostEstimate& whole) {
  const std::vector<MigProfile>& profiles = device.mig_profiles;
  std::vector<SliceRatio> slices;
  if (profiles.empty()) return slices;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    std::size_t twin = 0;
    while (!IsSameMachine(profiles[twin], profiles[i])) ++twin;
    if (twin == i) {
      slices.push_back(Compare(step, device, profiles[i], options, whole));
    } else {
      slices.push_back(slices[twin]);
      slices.back().profile = profiles[i].name;
    }
  }
  return slices;
}

}  // namespace foretell
