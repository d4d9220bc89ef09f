#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace foretell::cli {

/// Possible values of a flag: the names that its check lists, devices of the
/// catalogue, MIG profiles; for MODEL the networks of the zoo. Empty if any
/// value is possible, for example a file.
std::vector<std::string> ValuesOf(const CLI::Option& option);

/// "--batch" of an option called "-b,--batch".
std::vector<std::string> LongFlags(const CLI::Option& option);

}  // namespace foretell::cli
