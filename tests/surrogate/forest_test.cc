#include "src/surrogate/forest.h"

#include <gtest/gtest.h>

#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

Table Stairs() {
  return ToyTable(6, 6, [](double batch, double edge) {
    return batch > 4 && edge > 50 ? 200 : 100;
  });
}

TEST(Forest, ExtraTreesRepeatTheRowsOfTheFit) {
  const Table table = Stairs();
  const Forest forest = GrowForest(table, ForestKind::kExtra, 1);
  EXPECT_LT(LargestError(forest.Predict(table.inputs), table.values), 1e-12);
}

TEST(Forest, RandomTreesAreNearTheRowsOfTheFit) {
  const Table table = Stairs();
  const Forest forest = GrowForest(table, ForestKind::kRandom, 1);
  EXPECT_LT(MeanError(forest.Predict(table.inputs), table.values), 0.05);
  EXPECT_EQ(forest.trees().size(), 1000u);
}

TEST(Forest, SplitsInTheMiddleWhereItLowersTheErrorMost) {
  const Table table =
      ToyTable(1, 4, [](double, double edge) { return edge < 40 ? 1 : 10; });
  const Forest forest = GrowForest(table, ForestKind::kRandom, 1);
  int at_root = 0;
  for (const Tree& tree : forest.trees()) {
    if (tree.front().column == 1 && tree.front().value == 40) ++at_root;
  }
  // Half of the samples hold both 32 and 48, whose middle it is.
  EXPECT_GT(at_root, 200);
}

TEST(Forest, StaysBetweenTheValuesItSaw) {
  const Table table = Stairs();
  Eigen::MatrixXd far(1, 2);
  far << 1e6, 1e6;
  EXPECT_EQ(GrowForest(table, ForestKind::kExtra, 2).Predict(far)[0], 200);
}

}  // namespace
}  // namespace foretell::surrogate
