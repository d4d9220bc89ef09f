#pragma once

#include <span>

#include "cli/commands/command_table.h"

namespace foretell::cli {

/// All that a program does with its command line: parses it, calls what it
/// names of `commands`, prints help and errors. Subcommands without a function
/// are in the help; they must have been passed on before. Returns the exit
/// status.
int RunProgram(std::span<const CommandRow> commands,
               std::span<char* const> arguments);

/// Exits with RunProgram's status and without the destructors of static
/// objects: LibTorch's free what it registered piece by piece, which takes
/// longer than a prediction, and longer still where forks share that memory.
[[noreturn]] void RunMain(std::span<const CommandRow> commands, int argc,
                          char** argv);

}  // namespace foretell::cli
