#pragma once

#include <string>

#include "foretell/frontends.h"
#include "foretell/program.h"

namespace foretell::cli {

/// The program that a MODEL argument names: `zoo:NAME`, or a file's path.
/// Errors as zoo::Load and LoadModel.
Program OpenModel(const std::string& name, const LoadOptions& options = {});

}  // namespace foretell::cli
