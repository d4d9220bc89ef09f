#include "src/cost/power.h"

#include <gtest/gtest.h>

#include "tests/cost/test_device.h"

namespace foretell::cost {
namespace {

TEST(Power, GrowsWithWhatAKernelUses) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  EXPECT_DOUBLE_EQ(IdlePowerW(machine), 50);
  EXPECT_DOUBLE_EQ(WaitingPowerW(machine), 50 + 200 * 0.05);
  EXPECT_DOUBLE_EQ(BusyPowerW(machine, {}), 50 + 200 * 0.27);
  EXPECT_DOUBLE_EQ(BusyPowerW(machine, {.tensor = 0.5}), 50 + 200 * 0.87);
  EXPECT_DOUBLE_EQ(BusyPowerW(machine, {.lanes = 0.5}), 50 + 200 * 0.57);
  EXPECT_DOUBLE_EQ(BusyPowerW(machine, {.memory = 0.5}), 50 + 200 * 0.44);
}

TEST(Power, OfAKernelMayBeAboveTheLimitOfTheBoard) {
  DeviceSpec device = test::RoundDevice();
  EXPECT_DOUBLE_EQ(
      BusyPowerW(MakeMachine(device, {}), {.tensor = 1, .memory = 1}),
      50 + 200 * (0.27 + 1.2 + 0.34));
  device.chip_power_w = 450;
  EXPECT_DOUBLE_EQ(
      BusyPowerW(MakeMachine(device, {}), {.lanes = 1, .memory = 0.5}),
      50 + 400 * (0.27 + 0.6 + 0.17));
}

TEST(Power, FallsWithTheClockAndItsVoltageDownToAFloor) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  const Activity busy{.lanes = 1, .memory = 0.5};
  const double sm = 0.27 + 0.6;
  const double memory = 0.34 * 0.5;
  EXPECT_DOUBLE_EQ(BusyPowerW(machine.AtClock(0.8), busy),
                   50 + 200 * (0.8 * 0.8 * 0.8 * sm + memory));
  EXPECT_DOUBLE_EQ(BusyPowerW(machine.AtClock(0.5), busy),
                   50 + 200 * (0.5 * 0.6 * 0.6 * sm + 0.5 / 0.6 * memory));
  EXPECT_DOUBLE_EQ(IdlePowerW(machine.AtClock(0.5)), 50);
}

TEST(Power, OfASliceIsItsShareOfTheSmsAndOfTheMemory) {
  const DeviceSpec device = test::RoundDevice();
  const Machine slice =
      MakeMachine(device, {.sms = 20, .bandwidth_fraction = 0.5});
  EXPECT_DOUBLE_EQ(IdlePowerW(slice), 10);
  EXPECT_DOUBLE_EQ(BusyPowerW(slice, {.memory = 1}),
                   10 + 200 * (0.2 * 0.27 + 0.5 * 0.34));
  EXPECT_DOUBLE_EQ(PowerLimitW(slice), 10 + 200 * (0.2 * 0.66 + 0.5 * 0.34));
}

TEST(Clock, IsTheHighestAtWhichSomethingHolds) {
  EXPECT_NEAR(HighestClock([](double clock) { return clock <= 0.7; }), 0.7,
              1e-4);
  EXPECT_NEAR(HighestClock([](double) { return true; }), 1, 1e-4);
  EXPECT_DOUBLE_EQ(HighestClock([](double) { return false; }), 0.01);
}

TEST(TimeAtClock, OfAHungryProductGrowsBelowAClockOfItsOwn) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  Kernel product{.kernel_class = KernelClass::kLinear,
                 .macs = 1'000'000'000,
                 .arithmetic = Precision::kTf32};
  const auto arithmetic_us = [&](double clock) {
    return TimeAtClock(product, machine.AtClock(clock)).arithmetic_us;
  };
  // 20 us, and 5.5 us to launch it. Alone it keeps to 250 W at a clock of
  // 0.917: 0.917^3 * 0.27 + 0.917^2 * 1.2 * 20 / 25.5 = 1.
  EXPECT_DOUBLE_EQ(arithmetic_us(1), 20);
  EXPECT_DOUBLE_EQ(arithmetic_us(0.95), 20);
  EXPECT_NEAR(arithmetic_us(0.5), 20 * 0.917 / 0.5, 0.01);
  // 200 us on FP32 lanes take 221 W.
  product.arithmetic = Precision::kFp32;
  EXPECT_DOUBLE_EQ(arithmetic_us(0.5), 400);
}

TEST(Activity, OfTrafficIsTheShareOfTheTimeInWhichDataMoves) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  const Kernel relu{.kernel_class = KernelClass::kRelu,
                    .bytes_in = 43'500'000,
                    .bytes_out = 43'500'000,
                    .element_bytes_in = 4,
                    .element_bytes_out = 4};
  const Activity activity = ActivityOf(relu, TimeOf(relu, machine), machine);
  EXPECT_DOUBLE_EQ(activity.memory, 100.0 / 103);
  EXPECT_EQ(activity.lanes, 0);
  EXPECT_EQ(activity.tensor, 0);
}

TEST(Activity, OfAnExpensiveFunctionTakesLanes) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  const Kernel gelu{.kernel_class = KernelClass::kGelu,
                    .bytes_in = 89'000'000,
                    .bytes_out = 89'000'000,
                    .element_bytes_in = 2,
                    .element_bytes_out = 2};
  const KernelTime time = TimeOf(gelu, machine);
  ASSERT_DOUBLE_EQ(time.Us(), 203);
  // 17 multiply-adds per element, 10^7 operations per microsecond.
  EXPECT_NEAR(ActivityOf(gelu, time, machine).lanes,
              2 * 17 * 44.5e6 / 203 / 1e7, 1e-12);
}

TEST(Activity, OfFusedAttentionTakesLanesForItsScores) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  Kernel attention{.kernel_class = KernelClass::kAttention,
                   .macs = 2LL * 100 * 2048 * 2048 * 64,
                   .batch = 100,
                   .m = 2048,
                   .n = 2048,
                   .k = 64,
                   .element_bytes_in = 2,
                   .element_bytes_out = 2,
                   .arithmetic = Precision::kFp16};
  const KernelTime time = TimeOf(attention, machine);
  const double scores = 100.0 * 2048 * 2048;
  EXPECT_DOUBLE_EQ(ActivityOf(attention, time, machine).lanes,
                   2 * 6 * scores / time.Us() / 1e7);
  attention.causal = true;
  const KernelTime half = TimeOf(attention, machine);
  EXPECT_DOUBLE_EQ(ActivityOf(attention, half, machine).lanes,
                   6 * scores / half.Us() / 1e7);
}

TEST(Activity, OfMatrixUnitsIsThatOfTheInstructionOnThem) {
  DeviceSpec device = test::RoundDevice();
  const Kernel convolution{.kernel_class = KernelClass::kDenseConvolution,
                           .macs = 1'000'000'000,
                           .batch = 1,
                           .m = 10'000,
                           .n = 1000,
                           .k = 100,
                           .groups = 1,
                           .element_bytes_in = 2,
                           .arithmetic = Precision::kFp16};
  const auto busy = [&](int capability) {
    device.compute_capability = capability;
    const Machine machine = MakeMachine(device, {});
    const KernelTime time = TimeOf(convolution, machine);
    return ActivityOf(convolution, time, machine).tensor * time.Us();
  };
  EXPECT_NEAR(busy(80), 10, 1e-9);  // 2 x 10^9 operations, 2 x 10^8 per us.
  EXPECT_NEAR(busy(90), 10 / 0.63, 1e-9);
}

TEST(Activity, OfAProductIsThatOfItsUnit) {
  DeviceSpec device = test::RoundDevice();
  Kernel product{.kernel_class = KernelClass::kLinear,
                 .macs = 1'000'000'000,
                 .arithmetic = Precision::kTf32};
  const auto activity = [&] {
    const Machine machine = MakeMachine(device, {});
    return ActivityOf(product, TimeOf(product, machine), machine);
  };
  // 20 us at the peak of the matrix units, 200 us at that of the lanes; the
  // launch and the first tiles take 5.5 us more.
  EXPECT_DOUBLE_EQ(activity().tensor, 20 / 25.5);
  EXPECT_EQ(activity().lanes, 0);
  product.arithmetic = Precision::kFp32;
  EXPECT_DOUBLE_EQ(activity().lanes, 200 / 205.5);
  EXPECT_EQ(activity().tensor, 0);
  // A device without TF32 units.
  product.arithmetic = Precision::kTf32;
  device.peak_tflops[Precision::kTf32] = 10;
  EXPECT_DOUBLE_EQ(activity().lanes, 200 / 205.5);
}

}  // namespace
}  // namespace foretell::cost
