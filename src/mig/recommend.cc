#include <algorithm>
#include <cmath>
#include <string>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "src/mig/dippm_rule.h"
#include "src/mig/slice_scaling.h"
#include "src/core/text_table.h"

namespace foretell::mig {
namespace {

struct RuleRow {
  Rule rule;
  std::string_view name;
};

constexpr RuleRow kRules[] = {
    {Rule::kUsableMemory, "usable-memory"},
    {Rule::kDippm, "dippm"},
};

[[noreturn]] void Refuse(const Demand& demand, const std::string& problem) {
  const std::string name =
      demand.model.empty() ? "demand" : "demand of '" + demand.model + "'";
  throw Error(ErrorCode::kInvalidArgument, name + ": " + problem);
}

void CheckNumbers(const Demand& demand) {
  const struct {
    const char* name;
    double value;
  } numbers[] = {
      {"total_mib", demand.total_mib},
      {"lo_mib", demand.lo_mib},
      {"hi_mib", demand.hi_mib},
      {"latency_ms", demand.latency_ms},
      {"compute_ms", demand.latency_split.compute_ms},
      {"memory_ms", demand.latency_split.memory_ms},
      {"overhead_ms", demand.latency_split.overhead_ms},
      {"energy_j", demand.energy_j},
      {"dynamic_j", demand.energy_split.dynamic_j},
      {"static_j", demand.energy_split.static_j},
  };
  for (const auto& number : numbers) {
    if (std::isfinite(number.value) && number.value >= 0) continue;
    Refuse(demand, std::string(number.name) + " is " +
                       FormatNumber(number.value, 3) +
                       ", expected a finite number of at least 0");
  }
}

void CheckDemand(const Demand& demand) {
  CheckNumbers(demand);
  if (demand.lo_mib > demand.total_mib || demand.total_mib > demand.hi_mib) {
    Refuse(demand, "total_mib is " + FormatNumber(demand.total_mib, 3) +
                       ", expected it within its interval " +
                       FormatNumber(demand.lo_mib, 3) + " to " +
                       FormatNumber(demand.hi_mib, 3));
  }
  const LatencySplit& latency = demand.latency_split;
  const double parts_ms =
      latency.compute_ms + latency.memory_ms + latency.overhead_ms;
  if (demand.latency_ms > 0 && !(parts_ms > 0)) {
    Refuse(demand, "latency_ms is " + FormatNumber(demand.latency_ms, 3) +
                       ", but the parts of its split are 0");
  }
  const EnergySplit& energy = demand.energy_split;
  if (demand.energy_j > 0 && !(energy.dynamic_j + energy.static_j > 0)) {
    Refuse(demand, "energy_j is " + FormatNumber(demand.energy_j, 3) +
                       ", but the parts of its split are 0");
  }
}

/// Fills in what follows from the demand and the usable memory.
void JudgeMemory(const Demand& demand, Verdict* verdict) {
  verdict->margin_mib =
      static_cast<double>(verdict->usable_mib) - demand.hi_mib;
  verdict->fits = verdict->margin_mib >= 0;
  verdict->reason = "up to " + FormatNumber(demand.hi_mib, 1) +
                    " MiB are needed and " +
                    std::to_string(verdict->usable_mib) + " MiB are usable";
}

Verdict JudgeWholeDevice(const Demand& demand, const DeviceSpec& device) {
  Verdict verdict;
  verdict.usable_mib = device.usable_mib;
  verdict.sms = device.sms;
  verdict.latency_ms = demand.latency_ms;
  verdict.energy_j = demand.energy_j;
  JudgeMemory(demand, &verdict);
  return verdict;
}

Verdict JudgeProfile(const Demand& demand, const DeviceSpec& device,
                     const MigProfile& profile) {
  const SliceCost cost = ScaleToSlice(demand, device, profile);
  Verdict verdict;
  verdict.profile = profile.name;
  verdict.usable_mib = profile.usable_mib;
  verdict.sms = profile.sms;
  verdict.latency_ms = cost.latency_ms;
  verdict.energy_j = cost.energy_j;
  JudgeMemory(demand, &verdict);
  return verdict;
}

bool IsSmaller(const Verdict& a, const Verdict& b) {
  if (a.usable_mib != b.usable_mib) return a.usable_mib < b.usable_mib;
  return a.sms < b.sms;
}

void ChooseByMemory(const Demand& demand, const DeviceSpec& device,
                    Recommendation* result) {
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
  result->reason = "no profile holds the upper bound of " +
                   FormatNumber(demand.hi_mib, 1) + " MiB: the largest has " +
                   std::to_string(result->profiles.back().usable_mib) + " MiB";
}

/// Says so when the chosen profile does not hold the upper bound.
void NameDoubts(Recommendation* result) {
  for (const Verdict& verdict : result->profiles) {
    if (verdict.profile != result->profile || verdict.fits) continue;
    result->reason += ", although " + verdict.reason;
  }
}

}  // namespace

std::string_view RuleName(Rule rule) {
  for (const RuleRow& row : kRules) {
    if (row.rule == rule) return row.name;
  }
  throw Error(ErrorCode::kInternal, "a MIG rule has no name");
}

std::optional<Rule> ParseRule(std::string_view name) {
  for (const RuleRow& row : kRules) {
    if (row.name == name) return row.rule;
  }
  return std::nullopt;
}

Recommendation Recommend(const Demand& demand, const DeviceSpec& device,
                         const RecommendOptions& options) {
  CheckDemand(demand);
  Recommendation result;
  result.model = demand.model;
  result.device = device.name;
  result.rule = options.rule;
  result.whole_device = JudgeWholeDevice(demand, device);
  for (const MigProfile& profile : device.mig_profiles) {
    if (profile.media_extensions && !options.include_media_extensions) continue;
    result.profiles.push_back(JudgeProfile(demand, device, profile));
  }
  std::stable_sort(result.profiles.begin(), result.profiles.end(), IsSmaller);
  if (options.rule == Rule::kDippm) {
    result.profile = DippmProfile(demand.total_mib, device);
    result.reason = DippmReason(demand.total_mib);
    NameDoubts(&result);
  } else {
    ChooseByMemory(demand, device, &result);
  }
  return result;
}

}  // namespace foretell::mig
