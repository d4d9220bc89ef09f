#pragma once

#include "cli/commands/command.h"

namespace foretell::cli {

/// `foretell memory-classes classify`.
void AddMemoryClassesClassify(CLI::App& app, ExitCode& exit_code);

}  // namespace foretell::cli
