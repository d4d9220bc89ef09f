#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/step_simulator.h"
#include "foretell/compare_devices.h"
#include "foretell/runtime.h"

namespace foretell::cli {

/// One step in one runtime on one device.
struct RuntimeChoice {
  std::string runtime;  ///< ToString of its RuntimeSpec.
  DeviceChoice choice;
  /// Latency in eager PyTorch over its own; empty unless eager is compared.
  std::optional<double> speed_up = {};
};

/// A step in several runtimes, side by side.
struct ComparedRuntimes {
  std::string model;
  std::int64_t batch = 0;
  std::vector<RuntimeChoice> rows;   ///< Devices, then runtimes in their order.
  std::vector<std::string> untried;  ///< "compile: why it cannot answer".

  /// Whether the step fits in any of the rows.
  bool AnyFits() const;
};

/// Traces the step of `simulator` in each runtime and predicts it on each
/// device. A runtime or device that cannot answer goes to `untried`.
ComparedRuntimes CompareRuntimes(const StepSimulator& simulator,
                                 const std::vector<RuntimeSpec>& runtimes,
                                 const std::vector<DeviceSpec>& devices);

std::string FormatRuntimes(const ComparedRuntimes& compared);
nlohmann::ordered_json RuntimesToJson(const ComparedRuntimes& compared);

}  // namespace foretell::cli
