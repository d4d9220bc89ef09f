#include "src/answer/follow_power_limit.h"

#include <gtest/gtest.h>

#include "foretell/graph_io.h"

namespace foretell {
namespace {

constexpr char kGraph[] = R"(graph "product"
%x = input f16[8192,8192]
%y = linear(%x, weight f16[8192,8192]) : f16[8192,8192]
output %y
)";

class FollowLimit : public testing::Test {
 protected:
  CostEstimate At(std::optional<int> limit_w) const {
    CostOptions options;
    options.run.power_limit_w = limit_w;
    return EstimateCost(graph_, device_, options);
  }

  /// A prediction at 200 W whose `learned` figure is 3 at the board's own.
  Prediction Followed(Target learned) const {
    Prediction prediction;
    prediction.cost = At(200);
    prediction[Target::kLatency].value = prediction.cost.latency_ms;
    prediction[Target::kEnergy].value = prediction.cost.energy_j;
    prediction[learned] = {.value = 3,
                           .interval = {2, 4},
                           .source = {.method = "learned from rows",
                                      .trained_on = {"a100-sxm4-40gb"}}};
    CostOptions options;
    options.run.power_limit_w = 200;
    FollowPowerLimit(cost::LaunchStep(graph_, options), device_, options,
                     prediction);
    return prediction;
  }

  OperatorGraph graph_ = ParseGraph(kGraph);
  const DeviceSpec& device_ = DeviceCatalog::BuiltIn().FindDevice("a100");
};

TEST_F(FollowLimit, SlowsALearnedLatencyAsTheAnalyticOne) {
  const double ratio = At(200).latency_ms / At(std::nullopt).latency_ms;
  ASSERT_GT(ratio, 1.1);
  const Prediction prediction = Followed(Target::kLatency);
  EXPECT_DOUBLE_EQ(prediction[Target::kLatency].value, 3 * ratio);
  EXPECT_DOUBLE_EQ(prediction[Target::kLatency].interval.hi, 4 * ratio);
  // Energy at the same power.
  EXPECT_DOUBLE_EQ(prediction[Target::kEnergy].value, At(200).energy_j * ratio);
}

TEST_F(FollowLimit, SavesALearnedEnergyAsTheAnalyticOne) {
  const double ratio = At(200).energy_j / At(std::nullopt).energy_j;
  ASSERT_LT(ratio, 0.9);
  const Prediction prediction = Followed(Target::kEnergy);
  EXPECT_DOUBLE_EQ(prediction[Target::kEnergy].value, 3 * ratio);
  EXPECT_DOUBLE_EQ(prediction[Target::kLatency].value, At(200).latency_ms);
}

}  // namespace
}  // namespace foretell
