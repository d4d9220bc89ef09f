#include "src/correct/two_factors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace foretell {
namespace {

/// Points that follow exp(level + exponent * x), x from -2 to 2.
std::vector<FactorPoint> Line(int count, double level, double exponent) {
  std::vector<FactorPoint> points;
  for (int i = 0; i < count; ++i) {
    const double x = -2 + 4.0 * i / (count - 1);
    points.push_back({.log_ratio = level + exponent * x, .log_rate = x});
  }
  return points;
}

TEST(FitLevelAndExponent, FindsBothOfManyPoints) {
  const LevelAndExponent fit = FitLevelAndExponent(Line(1000, 0.3, -0.1));
  EXPECT_NEAR(fit.level, 0.3, 1e-3);
  EXPECT_NEAR(fit.exponent, -0.1, 1e-3);
}

TEST(FitLevelAndExponent, AgreesWithAnIndependentFit) {
  // By NumPy: weighted ridge regression, ten steps, on five points.
  const std::vector<FactorPoint> points = {
      {0.10, -1.2}, {0.05, -0.4}, {0.12, 0.1}, {0.02, 0.6}, {-0.3, 0.9}};
  const LevelAndExponent fit = FitLevelAndExponent(points);
  EXPECT_NEAR(fit.level, 0.048745644473, 1e-9);
  EXPECT_NEAR(fit.exponent, -0.030960402195, 1e-9);
}

TEST(FitLevelAndExponent, DrawsOnePointToNoCorrection) {
  // First step: 0.1 / 0.08^2 over 1 / 0.08^2 + 1 / 0.15^2; later ones trust
  // the point less, as it lies off the line. Level's share of the derivative
  // of the misfit is 0 where it ends.
  const std::vector<FactorPoint> points = {{0.1, 0}};
  const LevelAndExponent fit = FitLevelAndExponent(points);
  EXPECT_NEAR(fit.level, 0.1 * 156.25 / (156.25 + 44.444), 2e-3);
  EXPECT_EQ(fit.exponent, 0);
}

TEST(FitLevelAndExponent, EndsWhereTheMisfitIsLeast) {
  const std::vector<FactorPoint> points = Line(7, 0.2, 0.05);
  const LevelAndExponent fit = FitLevelAndExponent(points);
  const double least = MisfitOf(points, fit);
  for (const double step : {-0.01, 0.01}) {
    EXPECT_GT(MisfitOf(points, {fit.level + step, fit.exponent}), least);
    EXPECT_GT(MisfitOf(points, {fit.level, fit.exponent + step}), least);
  }
}

TEST(FitLevelAndExponent, IgnoresARowThatIsFarOff) {
  std::vector<FactorPoint> points = Line(9, 0.1, 0);
  const double without = FitLevelAndExponent(points).level;
  points.push_back({.log_ratio = 5, .log_rate = 0});
  EXPECT_NEAR(FitLevelAndExponent(points).level, without, 0.01);
}

TEST(FitLevelAndExponent, CorrectsNothingWithoutPoints) {
  const LevelAndExponent fit = FitLevelAndExponent({});
  EXPECT_EQ(fit.level, 0);
  EXPECT_EQ(fit.exponent, 0);
}

TEST(FitLevel, IsTheSharedValueDrawnToNothing) {
  const std::vector<LevelPoint> many(500, {.value = 300, .deviation = 20});
  EXPECT_NEAR(FitLevel(many, 400), 300, 0.1);
  EXPECT_LT(FitLevel({{{.value = 300, .deviation = 20}}}, 400), 300);
  EXPECT_EQ(FitLevel({}, 400), 0);
}

}  // namespace
}  // namespace foretell
