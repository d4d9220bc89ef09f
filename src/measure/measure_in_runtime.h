#pragma once

#include "foretell/measure.h"

namespace foretell::measure {

/// Measures the file of `request` in its runtime, which is not eager: a Python
/// process ($FORETELL_PYTHON, or python3) compiles an exported program with
/// torch.compile, or runs an ONNX file in ONNX Runtime. Times and peaks are as
/// MeasureHere has them; energy and the device's state are not read.
///
/// The process has all permissions of the user, so the request must have
/// options.trusts_code. What is missing or fails becomes the result's status
/// and message. Throws Error(kIo) only if no process can be started.
Measurement MeasureInRuntime(const MeasureRequest& request);

}  // namespace foretell::measure
