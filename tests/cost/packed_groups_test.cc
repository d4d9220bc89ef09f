#include "src/cost/packed_groups.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/roofline.h"
#include "src/cost/tensor_convolution.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// Of images of 64 channels in two groups, on FP32 lanes.
Kernel Grouped(const std::string& images) {
  const std::string type = "f32[" + images + ",64,10,10]";
  Kernel kernel = KernelsOf("%x = input " + type +
                                "\n%y = convolution(%x, weight f32[64,32,3,3]) "
                                "{padding=[1,1], groups=2} : " +
                                type + "\n",
                            {.torch = kNewCudnn})
                      .at(0);
  kernel.arithmetic = Precision::kFp32;
  return kernel;
}

TEST(PackedGroups, AreCopiedInAndOut) {
  const Machine machine = MakeMachine(test::RoundHopper(), {});
  ASSERT_TRUE(PacksGroups(Grouped("4"), machine));
  // 19 cycles for each of 2 x 25,600 elements; 100 multiprocessors.
  EXPECT_DOUBLE_EQ(ConversionUs(Grouped("4"), machine),
                   19 * 2 * 25600 / (100 * test::kRoundHopperClockMhz));
}

TEST(PackedGroups, LieSideBySideInASingleImage) {
  EXPECT_FALSE(PacksGroups(Grouped("1"), MakeMachine(test::RoundHopper(), {})));
}

TEST(PackedGroups, AreThoseOfGradientsInTf32) {
  const Machine machine = MakeMachine(test::RoundHopper(), {});
  Kernel kernel = Grouped("4");
  kernel.arithmetic = Precision::kTf32;
  kernel.pass = ProductPass::kInputGradient;
  EXPECT_TRUE(PacksGroups(kernel, machine));
  kernel.channels_last = true;
  EXPECT_FALSE(PacksGroups(kernel, machine));
}

TEST(PackedGroups, AreNoneOnTensorCoresOrOlderGpus) {
  Kernel kernel = Grouped("4");
  kernel.arithmetic = Precision::kTf32;
  EXPECT_FALSE(PacksGroups(kernel, MakeMachine(test::RoundHopper(), {})));
  EXPECT_FALSE(PacksGroups(Grouped("4"), MakeMachine(test::A100(), {})));
}

}  // namespace
}  // namespace foretell::cost
