#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "src/core/name_table.h"
#include "src/core/numbers.h"
#include "src/mig/dippm_rule.h"

namespace foretell::mig {
namespace {

constexpr NameTable<2> kRules = {"usable-memory", "dippm"};

bool IsSmaller(const Verdict& a, const Verdict& b) {
  if (a.usable_mib != b.usable_mib) return a.usable_mib < b.usable_mib;
  return a.sms < b.sms;
}

/// Names the smallest profile that would do without cache, if there is one.
void NameTightProfile(Recommendation* result) {
  for (const Verdict& verdict : result->profiles) {
    if (verdict.fit != Fit::kFitsWithoutCache) continue;
    result->reason +=
        "; '" + verdict.profile + "' " + std::string(FitText(verdict.fit));
    return;
  }
}

void ChooseByMemory(const DeviceSpec& device, Recommendation* result) {
  for (const Verdict& verdict : result->profiles) {
    if (!verdict.fits) continue;
    result->profile = verdict.profile;
    result->reason =
        "the smallest profile that holds the upper bound: " + verdict.reason;
    return;
  }
  if (result->profiles.empty()) {
    result->reason = "'" + device.name + "' has no MIG";
    return;
  }
  result->reason = fmt::format(
      "no profile holds the upper bound of {} MiB: the largest has {} MiB",
      FormatNumber(result->profiles.back().needed_mib, 1),
      result->profiles.back().usable_mib);
  NameTightProfile(result);
}

/// Adds a remark if the chosen profile does not hold the upper bound.
void NameDoubts(Recommendation* result) {
  for (const Verdict& verdict : result->profiles) {
    if (verdict.profile != result->profile || verdict.fits) continue;
    result->reason += ", although " + verdict.reason;
  }
}

}  // namespace

std::string_view RuleName(Rule rule) { return NameIn(kRules, rule); }

std::optional<Rule> ParseRule(std::string_view name) {
  return FindIn<Rule>(kRules, name);
}

Recommendation Recommend(const Demand& demand, const DeviceSpec& device,
                         const RecommendOptions& options) {
  Recommendation result;
  result.model = demand.model;
  result.device = device.name;
  result.rule = options.rule;
  result.whole_device = Judge(demand, device);
  if (demand.gpus > 1) {
    result.reason = fmt::format(
        "{} GPUs share the step, and NCCL does not span MIG instances",
        demand.gpus);
    return result;
  }
  for (const MigProfile& profile : device.mig_profiles) {
    if (profile.media_extensions && !options.include_media_extensions) continue;
    result.profiles.push_back(Judge(demand, device, profile.name));
  }
  std::stable_sort(result.profiles.begin(), result.profiles.end(), IsSmaller);
  if (options.rule == Rule::kDippm) {
    result.profile = DippmProfile(demand.total_mib, device);
    result.reason = DippmReason(demand.total_mib);
    NameDoubts(&result);
  } else {
    ChooseByMemory(device, &result);
  }
  return result;
}

}  // namespace foretell::mig
