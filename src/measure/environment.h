#pragma once

#include <vector>

#include "foretell/measure.h"
#include "src/measure/device_backend.h"

namespace foretell::measure {

/// Sets LibTorch's flags and threads as `request` needs them: TF32 in
/// convolutions stays on, PyTorch's default; TF32 in matrix
/// products only for Precision::kTf32; cuDNN neither searches (benchmark) nor
/// is bound to deterministic algorithms.
void PrepareLibTorch(const MeasureRequest& request);

/// Current hardware, driver and LibTorch, and the run settings of `run`.
MeasureEnvironment ReadEnvironment(DeviceBackend& device, const Run& run,
                                   std::vector<MeasureNote>& notes);

}  // namespace foretell::measure
