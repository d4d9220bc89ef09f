// The threshold rule of DIPPM (equation 2 of the paper), kept for comparison.
//
// It maps the predicted memory a, in GB, to (0,5) 1g.5gb, (5,10) 2g.10gb,
// (10,20) 3g.20gb, (20,40) 7g.40gb, and to nothing beyond. The published
// intervals are open; a value on a bound goes to the larger profile here. A GB
// is read as 1024 MiB. The bounds are the numbers in the profiles' names, not
// what the driver lets a process use, so a network of 4.9 GB is sent to a
// slice of 4.75 GiB; Rule::kUsableMemory exists because of that.
#include "src/mig/dippm_rule.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/failure.h"

namespace foretell::mig {
namespace {

constexpr double kMibPerGb = 1024;

struct Threshold {
  int from_gb;
  int to_gb;
  const char* profile;
};

constexpr Threshold kThresholds[] = {
    {0, 5, "1g.5gb"},
    {5, 10, "2g.10gb"},
    {10, 20, "3g.20gb"},
    {20, 40, "7g.40gb"},
};

const Threshold* Find(double total_mib) {
  for (const Threshold& threshold : kThresholds) {
    if (total_mib < threshold.to_gb * kMibPerGb) return &threshold;
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> DippmProfile(double total_mib,
                                        const DeviceSpec& device) {
  for (const Threshold& threshold : kThresholds) {
    const bool known =
        std::any_of(device.mig_profiles.begin(), device.mig_profiles.end(),
                    [&threshold](const MigProfile& profile) {
                      return profile.name == threshold.profile;
                    });
    if (known) continue;
    throw Unsupported(
        "the rule 'dippm' is defined for the A100 of 40 GB: '{}' has no "
        "profile '{}'",
        device.name, threshold.profile);
  }
  const Threshold* threshold = Find(total_mib);
  if (threshold == nullptr) return std::nullopt;
  return threshold->profile;
}

std::string DippmReason(double total_mib) {
  const Threshold* threshold = Find(total_mib);
  if (threshold == nullptr) return "the prediction is 40 GB or more";
  return fmt::format("the prediction is from {} to {} GB", threshold->from_gb,
                     threshold->to_gb);
}

}  // namespace foretell::mig
