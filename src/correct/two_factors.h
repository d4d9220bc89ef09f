#pragma once

#include <span>

namespace foretell {

/// One measured row, as the factors are fitted to it.
struct FactorPoint {
  double log_ratio = 0;  ///< Logarithm of measured over predicted time.
  double log_rate = 0;   ///< That of MACs over predicted time, less a mean.
};

/// The correction exp(level + exponent * log_rate) of predicted times.
struct LevelAndExponent {
  double level = 0;
  double exponent = 0;

  double LogFactor(double log_rate) const {
    return level + exponent * log_rate;
  }
};

/// Fits both factors: least squares on logarithms, drawn to no correction
/// (ridge) and robust (weights of a Cauchy distribution), so that five rows are
/// enough. No points: no correction.
///
/// A device that was not learned from is often wrong by one factor in what its
/// product units do, and by another in what its memory does; the rate at which
/// a network multiplies shows which of them it is made of. docs/accuracy.md has
/// what five labels are worth.
LevelAndExponent FitLevelAndExponent(std::span<const FactorPoint> points);

/// What the fit makes least: half the sum of log(1 + (residual / deviation)^2),
/// and the squares of both parameters over their deviations.
double MisfitOf(std::span<const FactorPoint> points,
                const LevelAndExponent& fit);

/// One reading whose scatter is known.
struct LevelPoint {
  double value = 0;
  double deviation = 1;  ///< Standard deviation, above 0.
};

/// The level that all points share, in the same manner: drawn to 0, of which it
/// is expected to be `prior_deviation` away, and robust.
double FitLevel(std::span<const LevelPoint> points, double prior_deviation);

}  // namespace foretell
