#pragma once

#include <regex>
#include <string>

#include "foretell/program.h"

namespace foretell {

/// Throws Error(kInvalidArgument) where `pattern` is no expression.
std::regex ParsePattern(const std::string& pattern);

/// Freezes the parameters of an instance in whose names the regular expression
/// `pattern` (ECMAScript) is not found; the others stay as they are. Throws
/// Error(kInvalidArgument) where it is no expression, or leaves nothing to be
/// trained.
void TrainOnly(const std::string& pattern, const ProgramInstance& instance);

}  // namespace foretell
