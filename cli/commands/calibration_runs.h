#pragma once

#include <cstdint>
#include <string>

#include "cli/commands/swept_model.h"
#include "cli/flags/model_options.h"
#include "cli/print/print_calibration.h"
#include "foretell/measure.h"

namespace foretell::cli {

/// What a calibration measures, and by what it is judged.
struct CalibrationPlan {
  ModelOptions model;
  DeviceFlags catalog;  ///< Whose allocator the estimate simulates.
  std::string device = "cpu";
  std::string sweep;
  bool resident = false;
  int checks = 0;       ///< Random points in addition to the array's.
  bool random = false;  ///< A second gap, by as many random points.
  std::uint64_t seed = 0;
  MeasureOptions measure = {.warmup_runs = 1, .min_runs = 1, .min_seconds = 0};
};

/// Measures the runs of an orthogonal array, and what else the plan asks for,
/// one after the other, with one bar of progress over all; points that
/// cannot be measured are left out. Throws Error(kUnsupported) with the first
/// failure where fewer are left than a polynomial of the factors needs, and
/// what PlanRuns throws.
CalibrationResult RunCalibrationPlan(const CalibrationPlan& plan,
                                     SweptModel& model);

}  // namespace foretell::cli
