#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace foretell::cli {

/// Describes, on one line, why `app` could not parse the command line: the
/// word, a likely correction, and the command whose help to read.
std::string UsageProblem(const CLI::App& app, const CLI::ParseError& error);

}  // namespace foretell::cli
