#include "src/surrogate/nonnegative.h"

#include <gtest/gtest.h>

#include "src/surrogate/polynomial.h"
#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

TEST(NonNegative, IsLeastSquaresWhereThatIsPositive) {
  Eigen::MatrixXd a(3, 2);
  a << 1, 0, 0, 1, 1, 1;
  const Eigen::Vector3d b(1, 2, 3);
  const Eigen::VectorXd x = SolveNonNegative(a, b);
  EXPECT_NEAR(x[0], 1, 1e-12);
  EXPECT_NEAR(x[1], 2, 1e-12);
}

TEST(NonNegative, LeavesOutColumnsThatWouldBeNegative) {
  // Least squares are (5/3, -4/3); over the first column alone 1.
  Eigen::MatrixXd a(3, 2);
  a << 1, 0, 0, 1, 1, 1;
  const Eigen::VectorXd x = SolveNonNegative(a, Eigen::Vector3d(2, -1, 0));
  EXPECT_NEAR(x[0], 1, 1e-12);
  EXPECT_EQ(x[1], 0);
}

TEST(NonNegative, GivesUpAColumnThatALaterOneReplaces) {
  // The first column that is taken, the longest product, is not in the answer.
  Eigen::MatrixXd a(3, 3);
  a << 3, 1, 0, 3, 0, 1, 3.1, 0, 0;
  const Eigen::Vector3d b(1, 1, 0);
  const Eigen::VectorXd x = SolveNonNegative(a, b);
  EXPECT_NEAR(x[0], 0, 1e-12);
  EXPECT_NEAR(x[1], 1, 1e-12);
  EXPECT_NEAR(x[2], 1, 1e-12);
}

TEST(NonNegative, FindsAKnownSumOfProducts) {
  const Table table = ToyTable(
      4, 4, [](double batch, double edge) { return 100 + 7 * batch * edge; });
  const PowerSum sum =
      FitNonNegative(table, {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}});
  const Eigen::MatrixXd far = Eigen::RowVector2d(64, 1024);
  EXPECT_NEAR(sum.Predict(far)[0], 100 + 7 * 64 * 1024, 1);
}

}  // namespace
}  // namespace foretell::surrogate
