#include "src/measure/statistics.h"

#include <algorithm>
#include <numeric>

namespace foretell::measure {

double Quantile(std::span<const double> sorted, double quantile) {
  const double position = quantile * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

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
