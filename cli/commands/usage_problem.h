#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace foretell::cli {

/// What is wrong with the command line that `app` could not parse, on one line:
/// the word, what may have been meant by it, and which command's help has more.
std::string UsageProblem(const CLI::App& app, const CLI::ParseError& error);

}  // namespace foretell::cli
