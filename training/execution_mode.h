#pragma once

#include <string>

#include "src/cost/kernels.h"

namespace foretell::training {

/// How a label's network ran, by the JSON object of its environment:
/// "autocast" is true; "memory_format" is "nhwc" or "channels_last"; the
/// version of PyTorch is the first number in "torch", "framework" or
/// "libtorch". What is missing means: not cast, contiguous, the newest. Norms
/// that an exporter folded are restored.
cost::ExecutionMode ExecutionModeOf(const std::string& environment);

}  // namespace foretell::training
