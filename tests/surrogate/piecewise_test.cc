#include "src/surrogate/piecewise.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/surrogate/polynomial.h"
#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

TEST(Piecewise, FindsWhereAnotherLayerBecomesTheLargest) {
  // 500 + max(rate of one layer, weights and rate of another).
  const auto memory = [](double batch, double edge) {
    const double pixels = batch * edge * edge;
    return 500 + std::max(0.01 * pixels, 300 + 0.002 * pixels);
  };
  const Table table = ToyTable(8, 8, memory);
  const BentSum sum = FitPiecewise(table);
  EXPECT_LT(MeanError(sum.Predict(table.inputs), table.values), 0.005);
  EXPECT_LE(sum.sum().terms().size() + sum.bends().size(), 6u);
  EXPECT_GT(MeanError(FitPolynomial(table).Predict(table.inputs), table.values),
            0.01);
}

TEST(Piecewise, KeepsAPolynomialFreeOfBends) {
  const Table table = ToyTable(6, 6, [](double batch, double edge) {
    return 500 + 0.01 * batch * edge * edge;
  });
  EXPECT_EQ(
      FitPiecewise(table).Rounded(table.inputs, 1e-4).Formula(table.columns),
      "0.01*batch*edge*edge + 500");
}

TEST(Piecewise, DoesWithFewRowsAndColumnsThatNeverChange) {
  Table table = ToyTable(3, 1, [](double batch, double) { return 1 + batch; });
  table.inputs.col(1).setConstant(0);
  const BentSum sum = FitPiecewise(table);
  EXPECT_TRUE(sum.Predict(table.inputs).allFinite());
  EXPECT_TRUE(sum.bends().empty());
}

TEST(Piecewise, TakesMoreRowsThanItChoosesBy) {
  Table table;
  table.columns = {"batch"};
  table.target = "memory";
  table.inputs = Eigen::VectorXd::LinSpaced(9000, 1, 9000);
  table.values = 100 + 2 * table.inputs.col(0).array() -
                 (table.inputs.col(0).array() - 5000).max(0);
  EXPECT_LT(
      LargestError(FitPiecewise(table).Predict(table.inputs), table.values),
      0.05);
}

}  // namespace
}  // namespace foretell::surrogate
