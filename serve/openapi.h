#pragma once

#include <string>
#include <vector>

#include "serve/served_command.h"

namespace foretell::serve {

/// The service's description (OpenAPI 3.1) as JSON.
std::string OpenApi(const std::vector<ServedCommand>& commands);

}  // namespace foretell::serve
