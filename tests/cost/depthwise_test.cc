#include "src/cost/depthwise.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/kernel_time.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// Of 100 images of 100 channels and 100 elements in channels-last, 10^6
/// elements of 2 bytes that are read and as many that are written.
KernelTime TimeOfWindow(const std::string& extent) {
  const Kernel kernel = KernelsOf(
                            "%x = input f16[100,100,10,10]\n"
                            "%y = conv2d(%x, weight f16[100,1," +
                                extent + "," + extent +
                                "]) {groups=100, padding=[9, 9]} : "
                                "f16[100,100,10,10]\n",
                            {.channels_last = true})
                            .front();
  const DeviceSpec device = test::RoundDevice();
  return TimeOf(kernel, MakeMachine(device, {}));
}

/// Bytes of the images and of a window of `taps` elements per channel, at 0.7
/// of 10^6 per microsecond.
double TrafficUs(double taps) { return (4e6 + 200 * taps) / 0.7e6; }

TEST(CudnnDepthwise, LoadsAndMultipliesInTurn) {
  const double at_peak_us = 2e6 * 9 / 1e7;
  EXPECT_DOUBLE_EQ(TimeOfWindow("3").arithmetic_us,
                   TrafficUs(9) + at_peak_us / 0.2);
  EXPECT_EQ(TimeOfWindow("3").conversion_us, 0);
}

TEST(CudnnDepthwise, HasNoKernelForWindowsBeyondSeven) {
  EXPECT_DOUBLE_EQ(TimeOfWindow("7").arithmetic_us,
                   TrafficUs(49) + 2e6 * 49 / 1e7 / 0.2);
  EXPECT_DOUBLE_EQ(TimeOfWindow("8").arithmetic_us,
                   TrafficUs(64) + 2e6 * 64 / 1e7 / 0.02);
}

/// Cycles of all multiprocessors of a Hopper for each tap of 10^6 results.
double FloatTapCycles(const std::string& extent, TorchVersion torch) {
  const Kernel kernel =
      KernelsOf(
          "%x = input f32[100,100,10,10]\n%y = conv2d(%x, weight f32[100,1," +
              extent + "]) {groups=100, padding=[9, 9]} : f32[100,100,10,10]\n",
          {.channels_last = true, .torch = torch})
          .front();
  const Machine machine = MakeMachine(test::RoundHopper(), {});
  return TimeOf(kernel, machine).arithmetic_us * 100 *
         test::kRoundHopperClockMhz / 1e6 / static_cast<double>(kernel.taps);
}

TEST(CudnnDepthwise, TakesTapAfterTapInFloatOnHopper) {
  constexpr TorchVersion kNew = {.major = 2, .minor = 11};
  EXPECT_NEAR(FloatTapCycles("3,3", kNew), 0.08, 1e-9);
  EXPECT_NEAR(FloatTapCycles("7,7", kNew), 0.105, 1e-9);
  // Direct: 5 cycles for each result and 0.7 for each tap, whatever the
  // version.
  constexpr TorchVersion kOld = {.major = 2, .minor = 5};
  EXPECT_NEAR(FloatTapCycles("5,1", kNew), 5 / 5. + 0.7, 1e-9);
  EXPECT_NEAR(FloatTapCycles("5,1", kOld), 5 / 5. + 0.7, 1e-9);
}

}  // namespace
}  // namespace foretell::cost
