#include "src/cost/float_weight_gradient.h"

#include <gtest/gtest.h>

#include "src/cost/roofline.h"
#include "tests/cost/test_device.h"

namespace foretell::cost {
namespace {

/// The gradient of the weight of cubes of 27 elements, with sums of 10^6.
Kernel Volume(std::int64_t channels_out, std::int64_t channels_in) {
  return {.kernel_class = KernelClass::kDenseConvolution,
          .batch = 1,
          .m = channels_out,
          .n = channels_in * 27,
          .k = 1'000'000,
          .taps = 27,
          .positions = 1'000'000,
          .channels_in = channels_in,
          .channels_out = channels_out,
          .groups = 1,
          .element_bytes_in = 4,
          .pass = ProductPass::kWeightGradient,
          .volume = true,
          .torch = kNewCudnn};
}

class FloatWeightGradient : public testing::Test {
 protected:
  double CyclesOf(const Kernel& kernel) const {
    return FloatWeightGradientUs(kernel, machine_) * test::kRoundHopperClockMhz;
  }
  Machine machine_ = MakeMachine(test::RoundHopper(), {});
};

TEST_F(FloatWeightGradient, HasOneBlockForElementsOfTheWindow) {
  EXPECT_TRUE(HasFloatWeightKernels(Volume(32, 32), machine_));
  EXPECT_DOUBLE_EQ(CyclesOf(Volume(32, 32)), 48e6);
  EXPECT_DOUBLE_EQ(CyclesOf(Volume(64, 64)), 48e6);  // 108 blocks, 100 SMs.
  EXPECT_DOUBLE_EQ(CyclesOf(Volume(128, 128)), 14 * 5 * 1e6);
}

TEST_F(FloatWeightGradient, OfFewChannelsIsComputedDirectly) {
  EXPECT_DOUBLE_EQ(CyclesOf(Volume(16, 8)), 128.0 * 27 / 100 * 1e6);
  EXPECT_DOUBLE_EQ(CyclesOf(Volume(4, 2)), 22e6);
}

TEST_F(FloatWeightGradient, OfImagesIsPaddedAsAWhole) {
  Kernel kernel = Volume(40, 3);
  kernel.volume = false;
  EXPECT_TRUE(HasFloatWeightKernels(kernel, machine_));
  EXPECT_DOUBLE_EQ(CyclesOf(kernel),
                   64 * 96 * (0.023 + 0.0276 / 27) / 100 * 1e6);
  kernel.groups = 2;
  EXPECT_FALSE(HasFloatWeightKernels(kernel, machine_));
}

TEST_F(FloatWeightGradient, OfManyImagesHasTheSumDivided) {
  Kernel kernel = Volume(32, 16);
  kernel.positions = 10'000;
  EXPECT_DOUBLE_EQ(CyclesOf(kernel), 0.026 * 32 * 32 * 27 / 100 * 1e6);
}

}  // namespace
}  // namespace foretell::cost
