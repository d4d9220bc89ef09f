#include "src/host/time_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretell::host {
namespace {

using testing::ElementsAre;

TEST(TimeProbes, TakesTheFastestBatchPerCall) {
  double now_us = 0;
  int calls = 0;
  // Two calls a batch; the batches take 1 (warming up), 4, 2, 12 us.
  const std::vector<double> per_call = {0.5, 2, 1, 6};
  const Probe probe{.what = {.probe = "add", .tensors = "meta"}, .call = [&] {
                      now_us +=
                          per_call.at(static_cast<std::size_t>(calls++ / 2));
                    }};
  const std::vector<ProbeTime> times = TimeProbes(
      std::vector{probe}, [&] { return now_us; }, {.batches = 3, .calls = 2});
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times.front().probe, "add");
  EXPECT_EQ(times.front().tensors, "meta");
  EXPECT_DOUBLE_EQ(times.front().us, 1);
  EXPECT_EQ(calls, 8);
}

TEST(TimeProbes, LetsProbesTakeTurns) {
  std::vector<std::string> order;
  const auto probe = [&](const std::string& name) {
    return Probe{.what = {.probe = name},
                 .call = [&order, name] { order.push_back(name); }};
  };
  TimeProbes(std::vector{probe("a"), probe("b")}, [] { return 0.0; },
             {.batches = 1, .calls = 1});
  EXPECT_THAT(order, ElementsAre("a", "b", "a", "b"));
}

TEST(ThreadTimeUs, NeverGoesBack) {
  const double before = ThreadTimeUs();
  EXPECT_GE(before, 0);
  EXPECT_GE(ThreadTimeUs(), before);
}

}  // namespace
}  // namespace foretell::host
