#include "src/answer/step_bound.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "src/cost/launched_step.h"
#include "tests/cost/test_device.h"

namespace foretell {
namespace {

using test::A100;

StepBound BoundOf(std::vector<NodeCost> nodes) {
  const CostEstimate nodes_alone{.nodes = std::move(nodes)};
  return BoundOfStep(cost::EstimateOnHost(nodes_alone, A100(), {}, 1), A100(),
                     {});
}

// (20 + x) / (10 + x) is above 1.5 where x is below 10.
TEST(BoundOfStep, IsTheHostWhereASlowOneMakesItMuchLonger) {
  EXPECT_EQ(BoundOf({{.gpu_us = 9, .dispatch_us = 10}}), StepBound::kHost);
  EXPECT_EQ(BoundOf({{.gpu_us = 11, .dispatch_us = 10}}), StepBound::kGpu);
}

TEST(BoundOfStep, IsTheLinkWhereExchangesMakeItMuchLonger) {
  const auto with_exchange = [](double link_us) {
    return BoundOf({{.gpu_us = 100, .dispatch_us = 1},
                    {.link_us = link_us, .waits_for = {0}}});
  };
  EXPECT_EQ(with_exchange(52), StepBound::kLink);
  EXPECT_EQ(with_exchange(50), StepBound::kGpu);
}

TEST(BoundOfStep, IsTheGpuWhereNothingIsDone) {
  EXPECT_EQ(BoundOf({}), StepBound::kGpu);
}

}  // namespace
}  // namespace foretell
