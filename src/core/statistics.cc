#include "src/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace foretell {

double Quantile(std::span<const double> sorted, double quantile) {
  const double position = quantile * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

double JointFactor(double factor, double other) {
  return std::exp(std::hypot(std::log(factor), std::log(other)));
}

RobustMiddle MiddleOf(std::vector<double> values) {
  std::ranges::sort(values);
  const double median = Quantile(values, 0.5);
  for (double& value : values) value = std::abs(value - median);
  std::ranges::sort(values);
  return {.median = median, .deviation = Quantile(values, 0.5)};
}

}  // namespace foretell
