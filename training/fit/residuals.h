#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/features/targets.h"
#include "src/network/checkpoint.h"
#include "training/fit/predicted_sample.h"

namespace foretell::training {

/// Default coverage of an interval.
inline constexpr double kCoverage = 0.9;

/// Split-conformal interval of log(true / predicted): with n residuals, the ⌊(n
/// + 1) · α / 2⌋-th smallest and the ⌈(n + 1) · (1 - α / 2)⌉-th, α = 1 -
/// coverage, each side separately, because errors are seldom symmetric. Widened
/// to contain 0. For a further sample from the same distribution, the interval
/// contains the true value with a probability of at least `coverage`. Empty
/// with fewer than ⌈2 / α⌉ - 1 residuals (19 at 90 %), which give no guarantee.
std::optional<learned::ResidualInterval> ConformalInterval(
    std::vector<double> log_residuals, double coverage = kCoverage);

/// log(true / predicted) wherever both are known.
std::vector<double> LogResiduals(std::span<const PredictedSample> predictions,
                                 learned::Target target);

}  // namespace foretell::training
