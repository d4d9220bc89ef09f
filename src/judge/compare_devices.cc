#include "foretell/compare_devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "foretell/mig.h"
#include "src/core/csv_rows.h"
#include "src/core/failure.h"
#include "src/core/parse_number.h"

namespace foretell {
namespace {

constexpr double kMsPerHour = 3600.0 * 1000.0;
constexpr double kSteps = 1000;

double ParsePrice(const std::string& path, const CsvRow& row) {
  const std::string& text = row.At("usd_per_hour");
  const std::optional<double> price = ParseNumber<double>(text);
  if (price && *price > 0 && *price < std::numeric_limits<double>::infinity()) {
    return *price;
  }
  throw Corrupt("{}:{}: usd_per_hour is '{}', expected a number above 0", path,
                row.line(), text);
}

}  // namespace

DevicePrices ReadPrices(const std::string& path, const DeviceCatalog& catalog,
                        std::vector<std::string>& skipped) {
  DevicePrices prices;
  ForEachCsvRow(path, [&](const CsvRow& row) {
    row.Require({"device", "usd_per_hour"});
    const DeviceSpec* device = catalog.DeviceNamed(row.At("device"));
    const double price = ParsePrice(path, row);
    if (device == nullptr) {
      skipped.push_back(
          fmt::format("{}:{}: {}", path, row.line(), row.At("device")));
      return;
    }
    const std::string& name = device->name;
    if (!prices.emplace(name, price).second) {
      throw Corrupt("{}:{}: {} has a price of {} already", path, row.line(),
                    name, prices.at(name));
    }
  });
  if (prices.empty()) {
    throw Corrupt(
        "{}: has no price of a known device, expected a row with device and "
        "usd_per_hour",
        path);
  }
  return prices;
}

DeviceChoice ChoiceOf(const Prediction& prediction, const DeviceSpec& device,
                      const DevicePrices& prices) {
  const mig::Verdict verdict = mig::Judge(ToDemand(prediction), device);
  DeviceChoice choice = {.device = device.name,
                         .usable_mib = static_cast<double>(verdict.usable_mib),
                         .needed_mib = verdict.needed_mib,
                         .fits = verdict.fits,
                         .latency_ms = verdict.latency_ms,
                         .energy_j = verdict.energy_j};
  const auto price = prices.find(device.name);
  if (price != prices.end()) {
    choice.usd_per_hour = price->second;
    choice.usd_per_thousand =
        price->second * kSteps * choice.latency_ms / kMsPerHour;
  }
  return choice;
}

void SortChoices(std::vector<DeviceChoice>& choices) {
  std::ranges::stable_sort(choices, {}, [](const DeviceChoice& choice) {
    return std::tuple(!choice.fits,
                      choice.usd_per_thousand.value_or(
                          std::numeric_limits<double>::infinity()),
                      choice.latency_ms);
  });
}

}  // namespace foretell
