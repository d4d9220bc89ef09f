#pragma once

#include <span>

#include "cli/commands/command_table.h"

namespace foretell::cli {

/// Parses the command line, runs the subcommand of `commands` that it names,
/// prints help and errors. Subcommands without a function appear in the help
/// only; PassOnToLab must have handled their calls. Returns the exit status.
int RunProgram(std::span<const CommandRow> commands,
               std::span<char* const> arguments);

/// Exits with RunProgram's status, without running static destructors:
/// LibTorch's free their registrations one by one, which is slower than a
/// prediction, and more so if forks share that memory.
[[noreturn]] void RunMain(std::span<const CommandRow> commands, int argc,
                          char** argv);

}  // namespace foretell::cli
