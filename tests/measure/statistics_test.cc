#include "src/measure/statistics.h"

#include <gtest/gtest.h>

namespace foretell::measure {
namespace {

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
