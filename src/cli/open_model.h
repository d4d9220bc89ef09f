#pragma once

#include <string>

#include "foretell/frontends.h"

namespace foretell::cli {

/// The program that a MODEL argument names. Throws Error whose message starts
/// with `name`.
Program OpenModel(const std::string& name, const LoadOptions& options);

}  // namespace foretell::cli
