#pragma once

#include <CLI/CLI.hpp>

#include "foretell/measure.h"

namespace foretell::cli {

/// Adds --autocast and --channels-last: how a network that is measured runs.
void AddExecutionFlags(CLI::App& command, MeasureOptions& options);

}  // namespace foretell::cli
