#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "cli/commands/command_table.h"

namespace foretell::cli {

/// The subcommand of `commands` that a command line calls: its first word that
/// is not a flag. Null if no subcommand has that name. `arguments` begin with
/// the program.
const CommandRow* CalledCommand(std::span<char* const> arguments,
                                std::span<const CommandRow> commands);

/// Expected path of foretell-lab: next to the file of this program.
std::filesystem::path LabProgram();

/// Replaces this process by the program `lab` (exec), with `arguments` except
/// the first. Throws Error(kUnsupported) with the command that builds it if the
/// file is missing, and Error(kIo) if it does not start.
[[noreturn]] void GoOnAs(const std::filesystem::path& lab,
                         std::span<char* const> arguments);

/// Calls GoOnAs in `foretell` if the command line calls a subcommand that is in
/// foretell-lab only, or more complete there. Returns otherwise, and in a
/// program that has all of `commands`.
void PassOnToLab(std::span<char* const> arguments,
                 std::span<const CommandRow> commands);

}  // namespace foretell::cli
