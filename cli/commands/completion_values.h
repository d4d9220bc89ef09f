#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace foretell::cli {

/// What may stand behind a flag: the names that its check lists, devices of the
/// catalogue, MIG profiles; for MODEL the networks of the zoo. Empty where
/// anything may, a file for example.
std::vector<std::string> ValuesOf(const CLI::Option& option);

/// "--batch" of an option called "-b,--batch".
std::vector<std::string> LongFlags(const CLI::Option& option);

}  // namespace foretell::cli
