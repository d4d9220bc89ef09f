#include "training/fit/residuals.h"

#include <algorithm>
#include <cmath>

namespace foretell::training {

std::optional<learned::ResidualInterval> ConformalInterval(
    std::vector<double> log_residuals, double coverage) {
  const auto count = static_cast<double>(log_residuals.size());
  // Rounding of 1 - 0.9 must not move a rank.
  constexpr double kRounding = 1e-9;
  const double tail = (count + 1) * (1 - coverage) / 2;
  const auto low = static_cast<std::int64_t>(std::floor(tail + kRounding));
  if (low < 1) return std::nullopt;
  std::ranges::sort(log_residuals);
  const auto at = [&](std::int64_t rank) {
    return log_residuals.at(static_cast<std::size_t>(rank - 1));
  };
  const std::int64_t high = std::ssize(log_residuals) + 1 - low;
  return learned::ResidualInterval{.lo = std::min(at(low), 0.0),
                                   .hi = std::max(at(high), 0.0),
                                   .coverage = coverage,
                                   .count = std::ssize(log_residuals)};
}

std::vector<double> LogResiduals(std::span<const PredictedSample> predictions,
                                 learned::Target target) {
  std::vector<double> residuals;
  for (const PredictedSample& prediction : predictions) {
    const double predicted = ValueOf(prediction.predicted, target);
    if (prediction.Has(target) && predicted > 0) {
      residuals.push_back(
          std::log(ValueOf(prediction.truth, target) / predicted));
    }
  }
  return residuals;
}

}  // namespace foretell::training
