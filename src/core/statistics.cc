#include "src/core/statistics.h"

#include <algorithm>
#include <cstddef>

namespace foretell {

double Quantile(std::span<const double> sorted, double quantile) {
  const double position = quantile * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

}  // namespace foretell
