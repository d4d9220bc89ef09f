#pragma once

#include <CLI/CLI.hpp>

namespace foretell::cli {

/// Numbers above 0. CLI11's own check names the largest double there is, with
/// all of its 309 digits.
const CLI::Validator& AboveZero();
/// 0 and the numbers above it.
const CLI::Validator& FromZero();

}  // namespace foretell::cli
