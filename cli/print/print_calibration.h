#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/correct/scope_step.h"
#include "src/surrogate/gap.h"

namespace foretell::cli {

/// A point that could not be measured.
struct FailedPoint {
  std::vector<double> factors;
  std::string status;  ///< MeasureStatusName; "failed" if it has no graph.
  std::string message;
};

/// Points with measured and estimated memory in MiB.
struct CalibrationRuns {
  surrogate::Table measured;
  Eigen::VectorXd estimated;
  std::vector<ShownStep> shown;
  std::vector<FailedPoint> failed;  ///< Points that are not among the others.
};

/// Result of a calibration.
struct CalibrationResult {
  std::string model;
  std::string device;
  bool resident = false;  ///< Memory is that of the whole process on the CPU.
  std::string array;
  CalibrationRuns runs;
  surrogate::GapFit fit;
  std::optional<CalibrationRuns> checks;
  std::optional<CalibrationRuns> random_runs;
  std::optional<surrogate::GapFit> random;  ///< By random_runs.
};

/// The document of --json: docs/calibrating.md has every field.
nlohmann::ordered_json CalibrationResultToJson(const CalibrationResult& found);

/// The runs as a table, the correction as a formula, and its error.
std::string FormatCalibration(const CalibrationResult& found);

/// "batch=8,width=64: out_of_memory: …; left out" of every run that failed.
std::vector<std::string> FailedPointLines(const CalibrationResult& found);

}  // namespace foretell::cli
