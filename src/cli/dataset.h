#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "datasets/generate/generate.h"
#include "src/cli/command.h"

namespace foretell::cli {

/// @name Subcommands of `foretell dataset`
/// @{
void AddDatasetGenerate(CLI::App& app, ExitCode& exit_code);
void AddDatasetCheck(CLI::App& app, ExitCode& exit_code);
/// @}

/// Worker processes when the user does not say: one per processor.
int DefaultJobs();

/// Prints at most twenty `lines` to stderr, then how many more there are.
void PrintSome(const std::vector<std::string>& lines);

/// "1 point", "3 points".
std::string Counted(std::int64_t count, const std::string& noun);

}  // namespace foretell::cli
