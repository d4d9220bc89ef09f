#pragma once

#include <CLI/CLI.hpp>

#include "foretell/fit.h"

namespace foretell::cli {

/// Adds --profile, --max-memory, --max-latency, --max-energy, --strict
/// and --tight, which set `limits`; it must outlive the command.
void AddFitFlags(CLI::App& command, FitLimits& limits);

}  // namespace foretell::cli
