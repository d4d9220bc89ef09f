#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/prediction.h"

namespace foretell {

/// USD per hour by DeviceSpec::name. foretell ships no prices of its own.
using DevicePrices = std::map<std::string, double>;

/// Reads a CSV table with the columns device and usd_per_hour, devices by name
/// or alias of `catalog`. Rows of devices that it lacks are skipped and noted
/// in `skipped`, as "prices.csv:3: l40s". Throws what ForEachCsvRow throws, and
/// Error(kCorrupt) for a price that is not a number above 0, a device that has
/// two, or a table without any known device.
DevicePrices ReadPrices(const std::string& path, const DeviceCatalog& catalog,
                        std::vector<std::string>& skipped);

/// One step on one device.
struct DeviceChoice {
  std::string device;
  double usable_mib = 0;
  double needed_mib = 0;  ///< Upper end of the memory, which must be usable.
  bool fits = false;
  double latency_ms = 0;
  double energy_j = 0;
  std::optional<double> usd_per_hour = {};
  /// Cost of a thousand steps; empty without usd_per_hour.
  std::optional<double> usd_per_thousand = {};
};

/// The choice for `prediction`.
DeviceChoice ChoiceOf(const Prediction& prediction, const DeviceSpec& device,
                      const DevicePrices& prices);

/// Sorts: choices that fit first, then those with a price, by cost, then by
/// latency.
void SortChoices(std::vector<DeviceChoice>& choices);

}  // namespace foretell
