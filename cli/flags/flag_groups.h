#pragma once

#include <CLI/CLI.hpp>

/// Groups of flags in the help: Model, Step, Device, Output, Advanced, in one
/// table for all commands.
namespace foretell::cli {

/// What decides a step; a command may put a flag of its own there.
inline constexpr char kStepGroup[] = "Step";

/// Puts the flags of `app` and of its commands into their groups. Flags that
/// the table does not know stay under "Options".
void GroupFlags(CLI::App& app);

/// Leaves the group Advanced out of the help of every command that has flags
/// in other groups too; the last line of the help then says so.
void HideAdvancedFlags(CLI::App& app);

}  // namespace foretell::cli
