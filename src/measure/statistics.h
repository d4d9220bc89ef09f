#pragma once

#include <span>
#include <vector>

#include "foretell/measure.h"

namespace foretell::measure {

/// Value below which the share `quantile` (0..1) of sorted `values` lies, with
/// linear interpolation between neighbours (numpy's default). Requires at least
/// one value.
double Quantile(std::span<const double> sorted, double quantile);

/// Statistics of the times of single runs, milliseconds, in any order. Requires
/// at least one.
LatencyStatistics Summarize(std::vector<double> times_ms);

}  // namespace foretell::measure
