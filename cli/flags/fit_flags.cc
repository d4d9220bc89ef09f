#include "cli/flags/fit_flags.h"

#include "cli/flags/number_checks.h"

namespace foretell::cli {

void AddFitFlags(CLI::App& command, FitLimits& limits) {
  command.add_option("--profile", limits.profile,
                     "MIG profile instead of the whole device");
  command
      .add_option("--max-memory", limits.max_memory_mib,
                  "Memory limit: MiB, or a number with a unit: 10GB, 16GiB")
      ->transform(SizeInMib());
  command
      .add_option("--max-latency", limits.max_latency_ms,
                  "Latency limit per batch or step: ms, or a number with a "
                  "unit: 20ms, 1.5s")
      ->transform(TimeInMs());
  command
      .add_option("--max-energy", limits.max_energy_j,
                  "Energy limit per batch or step: J, or a number with a unit: "
                  "5J, 2Wh")
      ->transform(EnergyInJ());
  command.add_flag(
      "--strict", limits.strict,
      "Judge latency and energy also by the upper ends of their intervals");
  command.add_flag("--tight", limits.tight,
                   "Accept a step that fits only after the allocator releases "
                   "cached memory");
}

std::string PlaceName(const DeviceSpec& device, const std::string& profile) {
  if (profile.empty()) return device.name;
  return device.name + " " + device.FindMigProfile(profile).name;
}

}  // namespace foretell::cli
