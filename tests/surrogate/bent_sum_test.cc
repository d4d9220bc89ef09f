#include "src/surrogate/bent_sum.h"

#include <gtest/gtest.h>

namespace foretell::surrogate {
namespace {

Eigen::MatrixXd BentInputs() {
  Eigen::MatrixXd inputs(3, 2);
  inputs << 2, 10, 4, 10, 8, 10;
  return inputs;
}

TEST(BentSum, AddsNothingBelowItsKnots) {
  const BentSum sum(PowerSum({{5, {0, 0}}, {1, {1, 0}}}),
                    {{{0.5, {1, 1}}, 30}, {{-2, {1, 0}}, 6}});
  EXPECT_EQ(sum.Predict(BentInputs()), Eigen::Vector3d(7, 14, 34));
}

TEST(BentSum, SaysBendsByComparisons) {
  const BentSum sum(PowerSum({{5, {0, 0}}, {3, {1, 0}}}),
                    {{{0.5, {1, 1}}, 30}, {{-1, {2, 0}}, -6}});
  EXPECT_EQ(sum.Formula({"batch size", "edge"}),
            "3*batch_size + 5 + 0.5*(batch_size*edge > 30)*(batch_size*edge - "
            "30) - (batch_size*batch_size > -6)*(batch_size*batch_size + 6)");
  const BentSum bend(PowerSum(), {{{-2, {0, 1}}, 8}});
  EXPECT_EQ(bend.Formula({"batch", "edge"}), "-2*(edge > 8)*(edge - 8)");
  EXPECT_EQ(BentSum(PowerSum(), {}).Formula({"batch", "edge"}), "0");
}

TEST(BentSum, RoundsKnotsTooAsFarAsPredictionsStay) {
  const BentSum sum(PowerSum({{500.0004, {0, 0}}}),
                    {{{100.00003, {1, 0}}, 3.999996}});
  const BentSum rounded = sum.Rounded(BentInputs(), 1e-4);
  EXPECT_EQ(rounded.Formula({"batch", "edge"}),
            "500 + 100*(batch > 4)*(batch - 4)");
}

}  // namespace
}  // namespace foretell::surrogate
