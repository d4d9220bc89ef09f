#pragma once

#include "foretell/calibration.h"
#include "foretell/predictor.h"

namespace foretell {

/// Refuses a calibration of another device, environment, run or allocator, and
/// one that was measured on a CPU: Error(kInvalidArgument) names its origin,
/// what differs and both values. Who calls the operators does not matter.
void CheckCalibration(const Calibration& calibration, const DeviceSpec& device,
                      const ContextModel& context, const Run& run,
                      const CachingAllocatorConfig& allocator);

/// Marks the memory of `prediction` as one that has the gap: its source, its
/// interval by the largest error of a run that was left out, and a warning
/// where the graph lies outside of the runs, or nobody knows.
void MarkCalibrated(const Calibration& calibration, const GapAt& gap,
                    Figure& memory);

}  // namespace foretell
