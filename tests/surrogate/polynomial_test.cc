#include "src/surrogate/polynomial.h"

#include <gtest/gtest.h>

#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

double ErrorOn(const PowerSum& sum, const Table& table) {
  return MeanError(sum.Predict(table.inputs), table.values);
}

TEST(Polynomial, LinearFindsASumOfColumns) {
  const Table table = ToyTable(5, 4, [](double batch, double edge) {
    return 7 + 3 * batch - 0.125 * edge;
  });
  EXPECT_LT(ErrorOn(FitLinear(table), table), 1e-10);
}

TEST(Polynomial, FindsProductsThatLinearCannot) {
  const Table table = ToyTable(6, 6, [](double batch, double edge) {
    return 100 + 2 * batch * edge * edge;
  });
  EXPECT_GT(ErrorOn(FitLinear(table), table), 0.1);
  EXPECT_LT(ErrorOn(FitPolynomial(table), table), 1e-6);
}

TEST(Polynomial, WeighsSmallRowsAsLargeOnes) {
  // Least squares of plain errors would leave the small rows to chance.
  const Table table = ToyTable(8, 6, [](double batch, double edge) {
    return 1 + batch * edge * edge * edge;
  });
  const PowerSum sum = FitPolynomial(table);
  EXPECT_LT(LargestError(sum.Predict(table.inputs), table.values), 0.01);
}

TEST(Polynomial, DoesWithoutColumnsThatNeverChange) {
  Table table = ToyTable(5, 4, [](double batch, double) { return 1 + batch; });
  table.inputs.col(1).setConstant(0);
  EXPECT_LT(ErrorOn(FitLinear(table), table), 1e-10);
  EXPECT_LT(ErrorOn(FitPolynomial(table), table), 1e-4);
}

}  // namespace
}  // namespace foretell::surrogate
