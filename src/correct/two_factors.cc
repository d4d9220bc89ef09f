#include "src/correct/two_factors.h"

#include <cmath>
#include <vector>

namespace foretell {
namespace {

// Standard deviations of the level, the exponent and a row's logarithm. Chosen
// in view of the four GPUs of docs/accuracy.md, where halving or doubling any
// of them moves a median error by at most 1.0 points.
constexpr double kLevelDeviation = 0.15;
constexpr double kExponentDeviation = 0.08;
constexpr double kRowDeviation = 0.08;
constexpr int kRobustSteps = 10;

double OffBy(const FactorPoint& point, const LevelAndExponent& fit) {
  return point.log_ratio - fit.LogFactor(point.log_rate);
}

/// Weight of a row that is so many standard deviations away.
double CauchyWeight(double deviations) {
  return 1 / (1 + deviations * deviations);
}

/// Sums of a weighted regression on 1 and the rate, with the ridge in them.
struct NormalEquations {
  double one = 1 / (kLevelDeviation * kLevelDeviation);
  double xx = 1 / (kExponentDeviation * kExponentDeviation);
  double x = 0;
  double y = 0;
  double xy = 0;

  void Add(const FactorPoint& point, double weight) {
    one += weight;
    x += weight * point.log_rate;
    xx += weight * point.log_rate * point.log_rate;
    y += weight * point.log_ratio;
    xy += weight * point.log_rate * point.log_ratio;
  }
  LevelAndExponent Solve() const {
    const double determinant = one * xx - x * x;
    return {.level = (y * xx - x * xy) / determinant,
            .exponent = (one * xy - x * y) / determinant};
  }
};

double Squared(double value) { return value * value; }

}  // namespace

LevelAndExponent FitLevelAndExponent(std::span<const FactorPoint> points) {
  std::vector<double> weights(points.size(), 1.0);
  LevelAndExponent fit;
  for (int step = 0; step < kRobustSteps; ++step) {
    NormalEquations equations;
    for (std::size_t i = 0; i < points.size(); ++i) {
      equations.Add(points[i], weights[i] / Squared(kRowDeviation));
    }
    fit = equations.Solve();
    for (std::size_t i = 0; i < points.size(); ++i) {
      weights[i] = CauchyWeight(OffBy(points[i], fit) / kRowDeviation);
    }
  }
  return fit;
}

double MisfitOf(std::span<const FactorPoint> points,
                const LevelAndExponent& fit) {
  double sum = Squared(fit.level / kLevelDeviation) +
               Squared(fit.exponent / kExponentDeviation);
  for (const FactorPoint& point : points) {
    sum += std::log1p(Squared(OffBy(point, fit) / kRowDeviation));
  }
  return sum / 2;
}

double FitLevel(std::span<const LevelPoint> points, double prior_deviation) {
  std::vector<double> weights(points.size(), 1.0);
  double level = 0;
  for (int step = 0; step < kRobustSteps; ++step) {
    double one = 1 / Squared(prior_deviation);
    double sum = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double precision = weights[i] / Squared(points[i].deviation);
      one += precision;
      sum += precision * points[i].value;
    }
    level = sum / one;
    for (std::size_t i = 0; i < points.size(); ++i) {
      weights[i] =
          CauchyWeight((points[i].value - level) / points[i].deviation);
    }
  }
  return level;
}

}  // namespace foretell
