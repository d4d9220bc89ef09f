#include "src/measure/statistics.h"

#include "src/core/statistics.h"

#include <algorithm>
#include <numeric>

namespace foretell::measure {

LatencyStatistics Summarize(std::vector<double> times_ms) {
  std::sort(times_ms.begin(), times_ms.end());
  const double sum = std::accumulate(times_ms.begin(), times_ms.end(), 0.0);
  return {.runs = static_cast<std::int64_t>(times_ms.size()),
          .median_ms = Quantile(times_ms, 0.5),
          .mean_ms = sum / static_cast<double>(times_ms.size()),
          .p5_ms = Quantile(times_ms, 0.05),
          .p95_ms = Quantile(times_ms, 0.95)};
}

}  // namespace foretell::measure
