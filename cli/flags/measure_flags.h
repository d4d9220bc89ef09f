#pragma once

#include <CLI/CLI.hpp>

#include "foretell/run.h"

namespace foretell::cli {

/// Adds --autocast and --channels-last: how a network that is measured runs.
void AddMeasuredRunFlags(CLI::App& command, Run& run);

}  // namespace foretell::cli
