#pragma once

#include <functional>
#include <vector>

#include "foretell/measure.h"
#include "src/measure/device_backend.h"

namespace foretell::measure {

/// Runs `step` warmup_runs times untimed, then until both min_runs runs and
/// min_seconds seconds of `clock` have passed. Returns the milliseconds of each
/// timed run.
std::vector<double> TimeRuns(const std::function<void()>& step,
                             DeviceBackend& device, Clock& clock,
                             const MeasureOptions& options);

}  // namespace foretell::measure
