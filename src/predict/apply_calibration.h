#pragma once

#include "foretell/calibration.h"
#include "foretell/predictor.h"

namespace foretell {

/// Refuses a calibration of another device, environment, run or allocator, and
/// one that was measured on a CPU: Error(kInvalidArgument) names its origin,
/// what differs and both values. What calls the operators does not matter.
void CheckCalibration(const Calibration& calibration, const DeviceSpec& device,
                      const ContextModel& context, const Run& run,
                      const CachingAllocatorConfig& allocator);

/// Marks `memory` as a figure that includes the gap: its source, its interval
/// by the largest error of a run that was left out, and a warning if the graph
/// lies outside of the runs, or that is unknown.
void MarkCalibrated(const Calibration& calibration, const GapAt& gap,
                    Figure& memory);

}  // namespace foretell
