#pragma once

#include <CLI/CLI.hpp>

#include "foretell/measure.h"
#include "foretell/run.h"

namespace foretell::cli {

/// Adds --autocast and --channels-last: how a network that is measured runs.
void AddMeasuredRunFlags(CLI::App& command, Run& run);

/// Adds --trust.
void AddTrust(CLI::App& command, MeasureOptions& options);

}  // namespace foretell::cli
