#pragma once

#include <vector>

#include "foretell/measure.h"

namespace foretell::measure {

/// Statistics of the times of single runs, milliseconds, in any order. Requires
/// at least one.
LatencyStatistics Summarize(std::vector<double> times_ms);

}  // namespace foretell::measure
