#pragma once

#include <string>

#include "foretell/frontends.h"

namespace foretell::cli {

/// Opens what a command line names as a model. Throws Error as LoadModel does.
Program OpenModel(const std::string& name, const LoadOptions& options = {});

}  // namespace foretell::cli
