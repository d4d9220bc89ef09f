#pragma once

#include <cstdint>
#include <string>

#include "cli/commands/swept_model.h"
#include "cli/flags/model_options.h"
#include "cli/print/print_calibration.h"
#include "foretell/measure.h"

namespace foretell::cli {

/// Runs that a calibration measures, and runs that test it.
struct CalibrationPlan {
  ModelOptions model;
  DeviceFlags catalog;  ///< Device whose allocator the estimate simulates.
  std::string device = "cpu";
  std::string sweep;
  bool resident = false;
  int checks = 0;       ///< Random points in addition to the array's.
  bool random = false;  ///< Fits a second correction to as many random points.
  std::uint64_t seed = 0;
  MeasureOptions measure = {.warmup_runs = 1, .min_runs = 1, .min_seconds = 0};
};

/// Measures the runs of an orthogonal array and the plan's other points one
/// after another, with a single progress bar. Leaves out points that cannot be
/// measured. Throws Error(kUnsupported) with the first failure if fewer remain
/// than a polynomial of the factors needs, and what PlanRuns throws.
CalibrationResult RunCalibrationPlan(const CalibrationPlan& plan,
                                     SweptModel& model);

}  // namespace foretell::cli
