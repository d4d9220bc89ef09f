#pragma once

#include <cstddef>
#include <string>

#include "foretell/program.h"

namespace foretell {

/// Freezes the parameters of an instance in whose names `pattern` (see
/// NamePattern) is not found; the others are not changed. Throws
/// Error(kInvalidArgument) if it is not an expression, or leaves nothing to be
/// trained.
void TrainOnly(const std::string& pattern, const ProgramInstance& instance);

/// Error text for a training step in which no parameter gets a gradient, though
/// `trainable` tensors require one.
std::string WhyNothingIsTrained(std::size_t trainable);

}  // namespace foretell
