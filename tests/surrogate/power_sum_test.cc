#include "src/surrogate/power_sum.h"

#include <gtest/gtest.h>

namespace foretell::surrogate {
namespace {

const std::vector<std::string> kNames = {"batch", "edge"};

TEST(PowerSum, SaysItsFormulaForEveryLanguage) {
  const PowerSum sum({{-2, {0, 0}}, {1, {1, 0}}, {-0.5, {1, 3}}, {3, {0, 1}}});
  EXPECT_EQ(sum.Formula(kNames),
            "-0.5*batch*edge*edge*edge + batch + 3*edge - 2");
  EXPECT_EQ(
      sum.Formula({"batch size", "lambda"}),
      "-0.5*batch_size*lambda_*lambda_*lambda_ + batch_size + 3*lambda_ - 2");
  EXPECT_EQ(PowerSum().Formula(kNames), "0");
}

TEST(PowerSum, AddsTermsOfEqualPowers) {
  const PowerSum sum({{2, {1, 0}}, {3, {1, 0}}, {4, {0, 1}}, {-4, {0, 1}}});
  EXPECT_EQ(sum.Formula(kNames), "5*batch");
}

TEST(PowerSum, PredictsEveryRow) {
  const PowerSum sum({{2, {1, 2}}, {-1, {0, 0}}});
  Eigen::MatrixXd inputs(2, 2);
  inputs << 3, 2, 1, 10;
  EXPECT_EQ(sum.Predict(inputs), Eigen::Vector2d(23, 199));
}

TEST(PowerSum, RoundsAwayTermsThatNoPredictionShows) {
  const PowerSum sum({{-5e-16, {0, 1}}, {0.035, {1, 2}}, {480, {0, 0}}});
  Eigen::MatrixXd inputs(2, 2);
  inputs << 1, 16, 8, 64;
  EXPECT_EQ(sum.Rounded(inputs, 1e-4).Formula(kNames),
            "0.035*batch*edge*edge + 480");
}

TEST(PowerSum, RoundsAsFarAsPredictionsStay) {
  // 1000.4 - 1000 = 0.4 needs five digits; three would say 0.
  const PowerSum sum({{1000.4321, {1, 0}}, {-1000, {0, 0}}});
  Eigen::MatrixXd inputs(1, 2);
  inputs << 1, 1;
  const PowerSum rounded = sum.Rounded(inputs, 1e-2);
  EXPECT_NEAR(rounded.Predict(inputs)[0], 0.4321, 0.4321e-2);
  EXPECT_EQ(rounded.Formula(kNames), "1000.43*batch - 1000");
}

}  // namespace
}  // namespace foretell::surrogate
