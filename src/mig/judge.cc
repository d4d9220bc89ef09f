#include <fmt/core.h>

#include <cmath>
#include <string>

#include "foretell/mig.h"
#include "src/core/failure.h"
#include "src/core/name_table.h"
#include "src/core/numbers.h"

namespace foretell::mig {
namespace {

constexpr NameTable<3> kFits = {"fits", "fits when PyTorch empties its cache",
                                "does not fit"};

[[noreturn]] void Refuse(const Demand& demand, const std::string& problem) {
  const std::string name =
      demand.model.empty() ? "demand" : "demand of '" + demand.model + "'";
  throw InvalidArgument("{}: {}", name, problem);
}

void CheckNumber(const Demand& demand, const std::string& name, double value) {
  if (std::isfinite(value) && value >= 0) return;
  Refuse(demand, fmt::format("{} is {}, expected a finite number of at least 0",
                             name, FormatNumber(value, 3)));
}

void CheckNumbers(const Demand& demand) {
  const struct {
    const char* name;
    double value;
  } numbers[] = {
      {"total_mib", demand.total_mib},   {"lo_mib", demand.lo_mib},
      {"hi_mib", demand.hi_mib},         {"cache_mib", demand.cache_mib},
      {"latency_ms", demand.latency_ms}, {"energy_j", demand.energy_j},
  };
  for (const auto& number : numbers) {
    CheckNumber(demand, number.name, number.value);
  }
  for (const SliceDemand& slice : demand.slices) {
    CheckNumber(demand, slice.profile + " latency_ms", slice.latency_ms);
    CheckNumber(demand, slice.profile + " energy_j", slice.energy_j);
    CheckNumber(demand, slice.profile + " context_saved_mib",
                slice.context_saved_mib);
  }
}

void CheckDemand(const Demand& demand) {
  CheckNumbers(demand);
  if (demand.lo_mib > demand.total_mib || demand.total_mib > demand.hi_mib) {
    Refuse(demand,
           fmt::format(
               "total_mib is {}, expected it within its interval {} to {}",
               FormatNumber(demand.total_mib, 3),
               FormatNumber(demand.lo_mib, 3), FormatNumber(demand.hi_mib, 3)));
  }
}

void RefuseShared(const Demand& demand, const MigProfile& profile) {
  if (demand.gpus <= 1) return;
  Refuse(demand,
         fmt::format("{} GPUs share the step, and profile '{}' is a MIG "
                     "instance: NCCL does not span MIG instances",
                     demand.gpus, profile.name));
}

/// The entry of `demand` for `profile`; empty if it knows memory alone.
SliceDemand OnSlice(const Demand& demand, const MigProfile& profile) {
  for (const SliceDemand& slice : demand.slices) {
    if (slice.profile == profile.name) return slice;
  }
  if (demand.latency_ms > 0 || demand.energy_j > 0) {
    Refuse(
        demand,
        fmt::format(
            "latency_ms is {} and energy_j {}, but profile '{}' is not judged",
            FormatNumber(demand.latency_ms, 3),
            FormatNumber(demand.energy_j, 3), profile.name));
  }
  return {.profile = profile.name};
}

Verdict OnWholeDevice(const Demand& demand, const DeviceSpec& device) {
  return {.usable_mib = device.usable_mib,
          .host_share_mib = device.host_share_mib,
          .sms = device.sms,
          .total_mib = demand.total_mib,
          .needed_mib = demand.hi_mib,
          .latency_ms = demand.latency_ms,
          .energy_j = demand.energy_j};
}

Verdict OnProfile(const Demand& demand, const MigProfile& profile) {
  RefuseShared(demand, profile);
  const SliceDemand slice = OnSlice(demand, profile);
  return {.profile = profile.name,
          .usable_mib = profile.usable_mib,
          .sms = profile.sms,
          .total_mib = demand.total_mib - slice.context_saved_mib,
          .needed_mib = demand.hi_mib - slice.context_saved_mib,
          .latency_ms = slice.latency_ms,
          .energy_j = slice.energy_j};
}

}  // namespace

bool FitsMemory(double needed_mib, double usable_mib) {
  return needed_mib <= usable_mib;
}

std::string_view FitText(Fit fit) { return NameIn(kFits, fit); }

Fit JudgeMemory(double needed_mib, double cache_mib, double usable_mib) {
  if (FitsMemory(needed_mib, usable_mib)) return Fit::kFits;
  return FitsMemory(needed_mib - cache_mib, usable_mib) ? Fit::kFitsWithoutCache
                                                        : Fit::kDoesNotFit;
}

Verdict Judge(const Demand& demand, const DeviceSpec& device,
              std::string_view profile) {
  CheckDemand(demand);
  Verdict verdict = profile.empty()
                        ? OnWholeDevice(demand, device)
                        : OnProfile(demand, device.FindMigProfile(profile));
  const auto usable_mib = static_cast<double>(verdict.usable_mib);
  verdict.margin_mib = usable_mib - verdict.needed_mib;
  verdict.fit = JudgeMemory(verdict.needed_mib, demand.cache_mib, usable_mib);
  verdict.fits = verdict.fit == Fit::kFits;
  verdict.reason =
      fmt::format("up to {} MiB are needed and {} MiB are usable",
                  FormatNumber(verdict.needed_mib, 1), verdict.usable_mib);
  if (verdict.host_share_mib > 0) {
    verdict.reason += fmt::format(", {} MiB of the pool left to the host",
                                  verdict.host_share_mib);
  }
  return verdict;
}

}  // namespace foretell::mig
