#pragma once

#include <cstddef>
#include <string>

#include "foretell/program.h"

namespace foretell {

/// Freezes the parameters of an instance in whose names `pattern` (see
/// NamePattern) is not found; the others stay as they are. Throws
/// Error(kInvalidArgument) where it is no expression, or leaves nothing to be
/// trained.
void TrainOnly(const std::string& pattern, const ProgramInstance& instance);

/// What a training step says in which no parameter gets a gradient, though
/// `trainable` tensors require one.
std::string WhyNothingIsTrained(std::size_t trainable);

}  // namespace foretell
