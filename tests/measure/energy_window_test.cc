#include "src/measure/energy_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/measure/fake_meter.h"

namespace foretell::measure {
namespace {

using testing::HasSubstr;

/// A hundred watts at rest, three hundred at work.
struct Bench {
  explicit Bench(double step_s = 0.1) : device(clock, 100, 300, step_s) {}

  MeasuredEnergy Measure(double run_s, const EnergyOptions& options = {}) {
    return MeasureEnergy(device.Work(run_s), device, clock, options, notes);
  }

  FakeClock clock;
  FakeDevice device;
  std::vector<MeasureNote> notes;
};

TEST(EnergyWindow, FindsTheEnergyOfShortRuns) {
  Bench bench;
  const MeasuredEnergy energy = bench.Measure(0.002);
  // 300 W × 2 ms; a look every 10 ms blurs each end of a 5 s window by 0.2 %.
  ASSERT_TRUE(energy.energy_j.has_value());
  EXPECT_NEAR(*energy.energy_j, 0.6, 0.6 * 0.005);
  EXPECT_NEAR(*energy.power_w, 300, 300 * 0.005);
  EXPECT_NEAR(*energy.idle_power_w, 100, 100 * 0.005);
  EXPECT_EQ(energy.source, "fake");
  EXPECT_TRUE(bench.notes.empty());
}

TEST(EnergyWindow, FindsTheEnergyOfRunsLongerThanAStep) {
  Bench bench;
  const MeasuredEnergy energy = bench.Measure(0.37);
  // 111 J; the counter lags by up to 0.1 s at each end of 5 s.
  ASSERT_TRUE(energy.energy_j.has_value());
  EXPECT_NEAR(*energy.energy_j, 111, 111 * 0.02);
  EXPECT_GE(*energy.counter_steps, 2 * 50);
}

TEST(EnergyWindow, HoldsFiftyStepsAndTwoSeconds) {
  Bench coarse(0.1);
  EXPECT_NEAR(*coarse.Measure(0.002).window_s, 2 * 5, 2 * 0.1);
  Bench fine(0.001);  // 50 steps are only 50 ms: the two seconds decide.
  EXPECT_NEAR(*fine.Measure(0.002).window_s, 2 * 2, 2 * 0.1);
}

TEST(EnergyWindow, CountsExactlyTheRunsBetweenItsEnds) {
  Bench bench;
  const MeasuredEnergy energy = bench.Measure(0.01, {.min_window_s = 0,
                                                     .min_counter_steps = 10,
                                                     .repeats = 1,
                                                     .idle_window_s = 0});
  // Ten steps of 0.1 s hold a hundred runs of 10 ms, one per look.
  EXPECT_NEAR(static_cast<double>(*energy.runs), 100, 1);
  EXPECT_NEAR(*energy.window_s, 1.0, 0.011);
  EXPECT_GT(bench.device.runs(), *energy.runs);  // Those before the first edge.
}

TEST(EnergyWindow, LooksSeldomEnoughNotToDisturbTinyRuns) {
  Bench bench;
  const EnergyWork plain = bench.device.Work(1e-5);
  std::int64_t calls = 0;
  const EnergyWork counted{.run =
                               [&](std::int64_t runs) {
                                 EXPECT_EQ(runs, 1000);  // 10 ms of 10 µs.
                                 ++calls;
                                 plain.run(runs);
                               },
                           .run_s = plain.run_s};
  MeasureEnergy(counted, bench.device, bench.clock, {.repeats = 1},
                bench.notes);
  EXPECT_NEAR(static_cast<double>(calls), 510, 20);  // 5 s and a step.
}

TEST(EnergyWindow, ShiftsThePhaseOfEachRepeat) {
  Bench bench;
  std::vector<double> starts_s;
  const EnergyWork plain = bench.device.Work(0.001);
  double last_end_s = 0;
  const EnergyWork watched{
      .run =
          [&](std::int64_t runs) {
            if (bench.clock.NowS() > last_end_s + 1e-6) {
              starts_s.push_back(bench.clock.NowS() - last_end_s);
            }
            plain.run(runs);
            last_end_s = bench.clock.NowS();
          },
      .run_s = plain.run_s};
  MeasureEnergy(watched, bench.device, bench.clock, {.repeats = 4},
                bench.notes);
  // After the idle window, then pauses of a quarter, half and three quarters
  // of a step.
  ASSERT_EQ(starts_s.size(), 4u);
  EXPECT_NEAR(starts_s[1], 0.025, 0.002);
  EXPECT_NEAR(starts_s[2], 0.050, 0.002);
  EXPECT_NEAR(starts_s[3], 0.075, 0.002);
}

TEST(EnergyWindow, ReportsTheSpreadOverItsRepeats) {
  Bench bench;
  const EnergyWork plain = bench.device.Work(0.002);
  // Runs take twice as long in the second window: 0.6 J, then 1.2 J.
  double last_end_s = 0;
  int windows = 0;
  const EnergyWork slowing{.run =
                               [&](std::int64_t runs) {
                                 if (bench.clock.NowS() > last_end_s + 1e-6) {
                                   ++windows;
                                 }
                                 plain.run(windows * runs);
                                 last_end_s = bench.clock.NowS();
                               },
                           .run_s = plain.run_s};
  const MeasuredEnergy energy = MeasureEnergy(
      slowing, bench.device, bench.clock, {.repeats = 2}, bench.notes);
  EXPECT_NEAR(*energy.energy_j, 0.9, 0.01);
  EXPECT_NEAR(*energy.relative_spread, 0.6 / 0.9, 0.02);
}

TEST(EnergyWindow, MeasuresNothingFromACounterThatStands) {
  Bench bench(1e9);
  const MeasuredEnergy energy = bench.Measure(0.002);
  EXPECT_FALSE(energy.energy_j.has_value());
  EXPECT_FALSE(energy.idle_power_w.has_value());
  ASSERT_EQ(bench.notes.size(), 1u);
  EXPECT_EQ(bench.notes[0].what, "energy");
  EXPECT_THAT(bench.notes[0].reason, HasSubstr("did not move"));
  EXPECT_NEAR(bench.clock.NowS(), 60, 0.1);  // And gives up.
}

TEST(EnergyWindow, MeasuresNothingWhenTheWindowDoesNotFill) {
  Bench bench(4);  // Fifty steps of four seconds are longer than a minute.
  EXPECT_FALSE(bench.Measure(0.002).energy_j.has_value());
  ASSERT_EQ(bench.notes.size(), 1u);
  EXPECT_THAT(bench.notes[0].reason, HasSubstr("too slowly"));
}

TEST(EnergyWindow, MeasuresNothingFromACounterThatFails) {
  Bench bench;
  bench.device.fail_after_reads = 2500;  // In the first window of work.
  EXPECT_FALSE(bench.Measure(0.002).energy_j.has_value());
  ASSERT_EQ(bench.notes.size(), 1u);
  EXPECT_EQ(bench.notes[0].reason, "unplugged");
}

TEST(EnergyWindow, MeasuresNothingFromACounterThatGoesBackwards) {
  Bench bench;
  const EnergyWork plain = bench.device.Work(0.002);
  const EnergyWork resetting{.run =
                                 [&](std::int64_t runs) {
                                   plain.run(runs);
                                   bench.device.offset_j = 0;
                                 },
                             .run_s = plain.run_s};
  EXPECT_FALSE(
      MeasureEnergy(resetting, bench.device, bench.clock, {}, bench.notes)
          .energy_j.has_value());
  ASSERT_EQ(bench.notes.size(), 1u);
  EXPECT_THAT(bench.notes[0].reason, HasSubstr("backwards"));
}

}  // namespace
}  // namespace foretell::measure
