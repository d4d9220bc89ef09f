#include <gtest/gtest.h>

#include <string>

#include "foretell/cost.h"
#include "src/cost/kernel_time.h"
#include "src/cost/roofline.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

std::string Upsampling(const std::string& target) {
  return "%x = input f16[1024,256,7,7]\n%y = " + target +
         "(%x) : f16[1024,256,14,14]\n";
}

TEST(Upsample, InterpolatesImageByImageInEveryThread) {
  const std::int64_t images = 1024 * 256;
  EXPECT_EQ(KernelsOf(Upsampling("upsample_bilinear2d"))[0].serial_steps,
            images);
  EXPECT_EQ(KernelsOf(Upsampling("upsample_bicubic2d"))[0].serial_steps,
            2 * images);
  EXPECT_EQ(KernelsOf(Upsampling("upsample_nearest2d"))[0].serial_steps, 0);
  EXPECT_EQ(
      KernelsOf(Upsampling("upsample_bilinear2d"), {.channels_last = true})[0]
          .serial_steps,
      0);
}

TEST(Upsample, TakesTheTimeOfItsStepsWhereThereAreFewPositions) {
  Machine machine = MakeMachine(test::RoundDevice(), {});
  const Kernel kernel = KernelsOf(Upsampling("upsample_bilinear2d"))[0];
  EXPECT_DOUBLE_EQ(TimeOf(kernel, machine).memory_us, 0.3 * 1024 * 256);
  machine.sms = 100;
  EXPECT_DOUBLE_EQ(
      RooflineOf({.positions = 196, .serial_steps = 1000}, machine).serial_us,
      300);
  EXPECT_DOUBLE_EQ(
      RooflineOf({.positions = 100 * 1024 + 1, .serial_steps = 1000}, machine)
          .serial_us,
      600);
}

TEST(Upsample, BoundsTheAnalyticEstimateToo) {
  const auto gpu_ms = [](const std::string& target) {
    return EstimateCost(ParseGraph("graph \"g\"\n" + Upsampling(target)),
                        test::RoundDevice(), {})
        .gpu_ms;
  };
  EXPECT_NEAR(gpu_ms("upsample_bilinear2d"), 0.3e-3 * 1024 * 256, 0.01);
  EXPECT_LT(gpu_ms("upsample_nearest2d"), 1);
}

}  // namespace
}  // namespace foretell::cost
