#pragma once

#include <vector>

#include "serve/served_command.h"

namespace foretell::cli {

/// Routes of `foretell serve`, and the flags that a request may set, as the
/// commands themselves define them. Flags that name files, change how files are
/// opened or choose the form of the output are left out.
std::vector<serve::ServedCommand> ServedCommands();

}  // namespace foretell::cli
