#include "src/surrogate/gap.h"

#include <gtest/gtest.h>

#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

TEST(Gap, IsWhatTheEstimateLacks) {
  const Table measured = ToyTable(
      4, 4, [](double batch, double edge) { return 200 + 3 * batch * edge; });
  // Lacks 200 and 0.5 per sample.
  const Eigen::VectorXd estimated =
      3 * measured.inputs.col(0).cwiseProduct(measured.inputs.col(1)) -
      0.5 * measured.inputs.col(0);
  const GapFit fit = FitGap(measured, estimated);
  EXPECT_GT(fit.before, 0.1);
  EXPECT_LT(fit.after, 1e-3);
  EXPECT_NEAR(fit.gap.Predict(measured.inputs.row(0))[0], 200.5, 0.1);
  EXPECT_LT(MeanErrorWith(fit.gap, measured, estimated), 1e-3);
}

TEST(Gap, IsJudgedByRowsThatWereLeftOut) {
  // A single row off by its whole value: only a fit that has seen it knows.
  Table measured =
      ToyTable(4, 3, [](double batch, double) { return 100 * batch; });
  const Eigen::VectorXd estimated = measured.values;
  measured.values[5] *= 2;
  const GapFit fit = FitGap(measured, estimated);
  EXPECT_GE(fit.after_largest, 0.49);
  EXPECT_LE(fit.before_median, 1e-12);
}

TEST(Gap, LeavesOutAllRunsOfAPoint) {
  // Four points, four times each. The others of its point would tell a run
  // that was left out its own value, which nothing else does.
  Table measured =
      ToyTable(4, 4, [](double batch, double) { return 100 * batch; });
  measured.inputs.col(1).setOnes();
  const Eigen::VectorXd estimated = measured.values;
  for (Eigen::Index row = 0; row < measured.rows(); ++row) {
    if (measured.inputs(row, 0) == measured.inputs(5, 0)) {
      measured.values[row] *= 2;
    }
  }
  EXPECT_EQ(FirstRowsOfPoints(measured.inputs).size(), 4u);
  EXPECT_GE(FitGap(measured, estimated).after_largest, 0.49);
}

TEST(Gap, MayBeNothing) {
  const Table measured =
      ToyTable(3, 3, [](double batch, double edge) { return batch * edge; });
  const GapFit fit = FitGap(measured, measured.values);
  EXPECT_EQ(fit.before, 0);
  EXPECT_EQ(fit.after, 0);
}

}  // namespace
}  // namespace foretell::surrogate
