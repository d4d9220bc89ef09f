#include "src/measure/statistics.h"

#include <gtest/gtest.h>

#include <array>

namespace foretell::measure {
namespace {

TEST(Statistics, InterpolatesQuantilesAsNumpyDoes) {
  const std::array<double, 5> values = {1, 2, 4, 8, 16};
  EXPECT_DOUBLE_EQ(Quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.5), 4);
  // Position 0.05 × 4 = 0.2, between 1 and 2.
  EXPECT_DOUBLE_EQ(Quantile(values, 0.05), 1.2);
  // Position 3.8, between 8 and 16.
  EXPECT_DOUBLE_EQ(Quantile(values, 0.95), 14.4);
  EXPECT_DOUBLE_EQ(Quantile(values, 1), 16);
}

TEST(Statistics, SummarizesTimesInAnyOrder) {
  const LatencyStatistics latency = Summarize({16, 1, 8, 2, 4});
  EXPECT_EQ(latency.runs, 5);
  EXPECT_DOUBLE_EQ(latency.median_ms, 4);
  EXPECT_DOUBLE_EQ(latency.mean_ms, 6.2);
  EXPECT_DOUBLE_EQ(latency.p5_ms, 1.2);
  EXPECT_DOUBLE_EQ(latency.p95_ms, 14.4);
}

TEST(Statistics, TakesTheMiddleOfAnEvenNumberOfTimes) {
  EXPECT_DOUBLE_EQ(Summarize({3, 1}).median_ms, 2);
}

TEST(Statistics, OfOneRunAreThatRun) {
  const LatencyStatistics latency = Summarize({7});
  EXPECT_DOUBLE_EQ(latency.p5_ms, 7);
  EXPECT_DOUBLE_EQ(latency.p95_ms, 7);
}

}  // namespace
}  // namespace foretell::measure
