#include "src/core/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace foretell {
namespace {

TEST(Quantile, InterpolatesAsNumpyDoes) {
  const std::array<double, 5> values = {1, 2, 4, 8, 16};
  EXPECT_DOUBLE_EQ(Quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.5), 4);
  // Position 0.05 × 4 = 0.2, between 1 and 2.
  EXPECT_DOUBLE_EQ(Quantile(values, 0.05), 1.2);
  // Position 3.8, between 8 and 16.
  EXPECT_DOUBLE_EQ(Quantile(values, 0.95), 14.4);
  EXPECT_DOUBLE_EQ(Quantile(values, 1), 16);
}

TEST(JointFactor, AddsLogarithmsAsDeviations) {
  EXPECT_DOUBLE_EQ(JointFactor(std::exp(3), std::exp(4)), std::exp(5));
  EXPECT_DOUBLE_EQ(JointFactor(2, 1), 2);
  EXPECT_DOUBLE_EQ(JointFactor(1, 0.5), 2);
}

TEST(MiddleOf, IsNotMovedByOneOutlier) {
  // Distances from 3: 2, 1, 0, 1, 97.
  const RobustMiddle odd = MiddleOf({100, 1, 4, 3, 2});
  EXPECT_DOUBLE_EQ(odd.median, 3);
  EXPECT_DOUBLE_EQ(odd.deviation, 1);
  // Distances from 3: 2, 1, 1, 5.
  const RobustMiddle even = MiddleOf({1, 2, 4, 8});
  EXPECT_DOUBLE_EQ(even.median, 3);
  EXPECT_DOUBLE_EQ(even.deviation, 1.5);
  EXPECT_DOUBLE_EQ(MiddleOf({7}).deviation, 0);
}

}  // namespace
}  // namespace foretell
