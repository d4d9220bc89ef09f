#include "src/measure/timed_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measure/fake_meter.h"

namespace foretell::measure {
namespace {

/// Every run takes `run_s`; counts what it is asked for.
class FakeBackend final : public DeviceBackend {
 public:
  FakeBackend(FakeClock& clock, double run_s) : clock_(clock), run_s_(run_s) {}

  c10::Device device() const override { return c10::Device(c10::kCPU); }
  void ResetPeaks() override {}
  double TimeMs(const std::function<void()>& run) override {
    run();
    clock_.Advance(run_s_);
    return run_s_ * 1e3;
  }
  void Synchronize() override { ++synchronized; }
  MeasuredMemory Memory(std::vector<MeasureNote>&) override { return {}; }
  DeviceState State(std::vector<MeasureNote>&) override { return {}; }
  void Describe(MeasureEnvironment&, std::vector<MeasureNote>&) override {}
  Reading<EnergyCounter*> Energy() override {
    return Reading<EnergyCounter*>::Missing("none");
  }

  int synchronized = 0;

 private:
  FakeClock& clock_;
  double run_s_;
};

struct Result {
  std::size_t timed = 0;
  int all = 0;
};

Result RunsOf(double run_s) {
  FakeClock clock;
  FakeBackend device(clock, run_s);
  int runs = 0;
  const std::vector<double> times_ms =
      TimeRuns([&runs] { ++runs; }, device, clock, {});
  EXPECT_EQ(device.synchronized, 1);  // Warm-up does not leak into the first.
  EXPECT_THAT(times_ms, testing::Each(run_s * 1e3));
  return {times_ms.size(), runs};
}

TEST(TimedRuns, GoOnForASecond) {
  const Result result = RunsOf(0.0078125);  // 1/128 s: exact sums.
  EXPECT_EQ(result.timed, 128u);
  EXPECT_EQ(result.all, 128 + 5);
}

TEST(TimedRuns, AreThirtyAtLeast) { EXPECT_EQ(RunsOf(0.5).timed, 30u); }

}  // namespace
}  // namespace foretell::measure
