#include <cmath>
#include <string>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "src/core/text_table.h"
#include "src/mig/slice_scaling.h"

namespace foretell::mig {
namespace {

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

Verdict OnWholeDevice(const Demand& demand, const DeviceSpec& device) {
  return {.usable_mib = device.usable_mib,
          .sms = device.sms,
          .latency_ms = demand.latency_ms,
          .energy_j = demand.energy_j};
}

Verdict OnProfile(const Demand& demand, const DeviceSpec& device,
                  const MigProfile& profile) {
  const SliceCost cost = ScaleToSlice(demand, device, profile);
  return {.profile = profile.name,
          .usable_mib = profile.usable_mib,
          .sms = profile.sms,
          .latency_ms = cost.latency_ms,
          .energy_j = cost.energy_j};
}

}  // namespace

bool FitsMemory(double needed_mib, double usable_mib) {
  return needed_mib <= usable_mib;
}

Verdict Judge(const Demand& demand, const DeviceSpec& device,
              std::string_view profile) {
  CheckDemand(demand);
  Verdict verdict =
      profile.empty()
          ? OnWholeDevice(demand, device)
          : OnProfile(demand, device, device.FindMigProfile(profile));
  const auto usable_mib = static_cast<double>(verdict.usable_mib);
  verdict.margin_mib = usable_mib - demand.hi_mib;
  verdict.fits = FitsMemory(demand.hi_mib, usable_mib);
  verdict.reason = "up to " + FormatNumber(demand.hi_mib, 1) +
                   " MiB are needed and " +
                   std::to_string(verdict.usable_mib) + " MiB are usable";
  return verdict;
}

}  // namespace foretell::mig
