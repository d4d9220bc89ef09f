#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "foretell/device.h"
#include "foretell/fit.h"

namespace foretell::cli {

/// Adds --profile, --max-memory, --max-latency, --max-energy, --strict
/// and --tight, which set `limits`. `limits` must outlive the command.
void AddFitFlags(CLI::App& command, FitLimits& limits);

/// "a100-sxm4-40gb 1g.5gb", or the device alone where `profile` is empty.
/// Throws Error(kNotFound) for a profile that the device lacks.
std::string PlaceName(const DeviceSpec& device, const std::string& profile);

}  // namespace foretell::cli
