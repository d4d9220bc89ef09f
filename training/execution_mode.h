#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/cost/kernels.h"

namespace foretell::training {

/// A version of PyTorch.
struct TorchVersion {
  int major = 0;
  int minor = 0;
};

/// The first number with a dot: 1.13 of "pytorch-1.13.1+cu117". Empty without.
std::optional<TorchVersion> ParseVersion(std::string_view text);

/// How a label's network ran, by the JSON object of its environment:
/// "autocast" is true; "memory_format" is "nhwc" or "channels_last"; the
/// version of PyTorch is the first number in "torch", "framework" or
/// "libtorch". What is missing means: not cast, contiguous, the newest. Norms
/// that an exporter folded are restored.
cost::ExecutionMode ExecutionModeOf(const std::string& environment);

}  // namespace foretell::training
