// A power limit, the board's own or a lower one: what it costs and what it may
// not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/cost.h"
#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/cost/launched_step.h"
#include "tests/cost/test_device.h"

namespace foretell {
namespace {

const char* const kProductAndTraffic = R"(graph "both"
%x = input f32[4096,4096]
%a = linear(%x, weight f32[4096,4096]) : f32[4096,4096]
%b = gelu(%a) : f32[4096,4096]
%c = linear(%b, weight f32[64,4096]) : f32[4096,64]
output %c
)";

const char* const kTraffic = R"(graph "traffic"
%x = input f32[268435456]
%y = relu(%x) : f32[268435456]
output %y
)";

const char* const kTiny = R"(graph "tiny"
%x = input f32[64]
%a = relu(%x) : f32[64]
%b = relu(%a) : f32[64]
output %b
)";

const char* const kHungryAndCalm = R"(graph "mixed"
%x = input f16[8192,8192]
%y = input f32[2048,2048]
%a = linear(%x, weight f16[8192,8192]) : f16[8192,8192]
%b = linear(%y, weight f32[2048,2048]) : f32[2048,2048]
output %a
output %b
)";

CostEstimate At(const std::string& text, std::optional<int> limit_w,
                CostOptions options = {}) {
  options.run.power_limit_w = limit_w;
  return EstimateCost(ParseGraph(text), test::RoundDevice(), options);
}

TEST(PowerLimit, IsKeptToAndAlmostReached) {
  for (const char* text : {kProductAndTraffic, kTraffic}) {
    for (const int limit_w : {60, 80, 100, 120, 150}) {
      const CostEstimate cost = At(text, limit_w);
      EXPECT_LE(cost.average_power_w, limit_w);
      EXPECT_GT(cost.average_power_w, limit_w - 1);
    }
  }
}

TEST(PowerLimit, SlowsTrafficOnlyFarBelowTheFullClock) {
  const double free_ms = At(kTraffic, std::nullopt).latency_ms;
  EXPECT_EQ(At(kTraffic, 140).latency_ms, free_ms);
  EXPECT_GT(At(kTraffic, 100).latency_ms, 1.2 * free_ms);
}

TEST(PowerLimit, NeverSavesTimeNorCostsPower) {
  CostEstimate looser = At(kProductAndTraffic, std::nullopt);
  for (int limit_w = 240; limit_w > 55; limit_w -= 15) {
    const CostEstimate cost = At(kProductAndTraffic, limit_w);
    EXPECT_GE(cost.latency_ms, looser.latency_ms) << limit_w;
    EXPECT_LE(cost.average_power_w, looser.average_power_w) << limit_w;
    looser = cost;
  }
  EXPECT_GT(looser.latency_ms,
            2 * At(kProductAndTraffic, std::nullopt).latency_ms);
}

TEST(PowerLimit, SavesEnergyUntilTheIdleBoardEatsIt) {
  const double free_j = At(kProductAndTraffic, std::nullopt).energy_j;
  EXPECT_LT(At(kProductAndTraffic, 150).energy_j, 0.95 * free_j);
  EXPECT_GT(At(kProductAndTraffic, 55).energy_j, free_j);
}

TEST(PowerLimit, LeavesAStepAloneThatWaitsForTheHost) {
  const CostEstimate limited = At(kTiny, 120);
  const CostEstimate free = At(kTiny, std::nullopt);
  EXPECT_EQ(limited.latency_ms, free.latency_ms);
  EXPECT_EQ(limited.energy_j, free.energy_j);
}

TEST(PowerLimit, OfTheBoardItselfIsKeptToOnAverage) {
  const OperatorGraph graph = ParseGraph(kHungryAndCalm);
  const DeviceSpec device = test::RoundDevice();
  const CostEstimate limited = EstimateCost(graph, device);
  const CostEstimate full =
      cost::EstimateAtFullClock(cost::LaunchStep(graph, {}), device, {});
  EXPECT_GT(full.average_power_w, 255);
  EXPECT_LE(limited.average_power_w, 250);
  EXPECT_GT(limited.average_power_w, 249);
  // The product in 16 bits would draw more alone, so its time holds a lower
  // clock; that in 32 bits draws less.
  EXPECT_DOUBLE_EQ(limited.nodes[0].gpu_us, full.nodes[0].gpu_us);
  EXPECT_GT(limited.nodes[1].gpu_us, 1.02 * full.nodes[1].gpu_us);
}

TEST(PowerLimit, OfABoardThatDrawsNoMoreThanWhenIdleIsNone) {
  const OperatorGraph graph = ParseGraph(kProductAndTraffic);
  DeviceSpec device = test::RoundDevice();
  const double usual_ms = EstimateCost(graph, device).latency_ms;
  device.max_power_w = device.idle_power_w;
  device.chip_power_w = 250;
  EXPECT_EQ(EstimateCost(graph, device).latency_ms, usual_ms);
}

TEST(PowerLimit, OfTheBoardItselfChangesNothing) {
  EXPECT_EQ(At(kProductAndTraffic, 250).latency_ms,
            At(kProductAndTraffic, std::nullopt).latency_ms);
}

TEST(PowerLimit, HoldsForASlicesPartOfTheBoard) {
  const CostEstimate slice =
      At(kProductAndTraffic, 150, {.sms = 50, .bandwidth_fraction = 0.5});
  EXPECT_LE(slice.average_power_w, 75);
  EXPECT_GT(slice.average_power_w, 74);
}

TEST(PowerLimit, IsRefusedOutsideTheBoardsRange) {
  for (const int limit_w : {-5, 50, 251}) {
    try {
      At(kTiny, limit_w);
      ADD_FAILURE() << "accepted " << limit_w;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_EQ(std::string(error.what()),
                "device round: power limit is " + std::to_string(limit_w) +
                    " W, expected more than 50 (idle) and at most 250");
    }
  }
}

}  // namespace
}  // namespace foretell
