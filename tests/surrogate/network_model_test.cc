#include "src/surrogate/network_model.h"

#include <gtest/gtest.h>

#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

TEST(NetworkModel, AppliesRangesLayersAndReLU) {
  DenseLayer first{Eigen::MatrixXd(2, 1), Eigen::Vector2d(0, 0)};
  first.weight << 1, -1;
  DenseLayer second{Eigen::MatrixXd(1, 2), Eigen::VectorXd::Ones(1)};
  second.weight << 2, 3;
  const NetworkModel network({first, second}, {{10, 20}}, {100, 200});
  Eigen::MatrixXd inputs(2, 1);
  inputs << 15, 5;  // 0.5 and -0.5 of the range
  const Eigen::VectorXd predicted = network.Predict(inputs);
  EXPECT_DOUBLE_EQ(predicted[0], 100 + 100 * (2 * 0.5 + 1));
  EXPECT_DOUBLE_EQ(predicted[1], 100 + 100 * (3 * 0.5 + 1));
}

TEST(NetworkModel, LearnsTheSlopeOfATable) {
  const Table table = ToyTable(
      5, 8, [](double batch, double edge) { return 1000 + batch + edge; });
  const NetworkModel network = TrainNetwork(table, 3);
  const Eigen::VectorXd mean =
      Eigen::VectorXd::Constant(table.rows(), table.values.mean());
  EXPECT_LT(MeanError(network.Predict(table.inputs), table.values),
            0.7 * MeanError(mean, table.values));
  EXPECT_EQ(network.Predict(table.inputs),
            TrainNetwork(table, 3).Predict(table.inputs));
}

}  // namespace
}  // namespace foretell::surrogate
