#pragma once

#include <span>
#include <string>

#include "foretell/measure.h"

namespace foretell::cli {

/// A table of all rows, and under it what they were measured on.
std::string FormatMeasurements(std::span<const Measurement> rows);

}  // namespace foretell::cli
