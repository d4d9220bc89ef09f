#pragma once

#include <string>
#include <vector>

#include "src/correct/fit_device.h"
#include "src/measure/device_suite.h"

namespace foretell::cli {

/// A step and how long it took.
struct TimedStep {
  measure::SuiteStep step;
  double latency_ms = 0;
};

/// Measures every step of DeviceSuite on `device` ("cuda:0"), one after the
/// other in a process each, with a progress bar. A step that fails, because of
/// too little memory, is a warning and left out; throws Error(kUnsupported) if
/// the first one fails, as without such a device. Writes the rows to `rows_out`
/// unless it is empty, as `foretell measure --csv` prints them.
std::vector<TimedStep> MeasureSuite(const std::string& device,
                                    const std::string& rows_out);

/// The steps of a table as `foretell measure --csv` prints: the columns model,
/// batch, precision and latency_ms; rows whose status is there and is not "ok"
/// are left out. Throws what ForEachCsvRow throws, and Error(kCorrupt) that
/// names path, line and cell.
std::vector<TimedStep> ReadTimedSteps(const std::string& path);

/// The suite as `constants` are predicted to take it.
std::vector<TimedStep> SimulateSuite(const DeviceConstants& constants);

/// The steps with their graphs; every third is held out.
std::vector<DeviceRow> TracedRows(const std::vector<TimedStep>& steps);

}  // namespace foretell::cli
