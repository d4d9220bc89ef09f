#include "src/cost/padded_convolution.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/roofline.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// 3 x 3 in `groups` of `width` channels.
Kernel InGroups(int groups, int width, const TorchVersion& torch = kNewCudnn) {
  const std::string channels = std::to_string(groups * width);
  return KernelsOf(
             "%x = input f32[8," + channels +
                 ",16,16]\n%y = conv2d(%x, weight f32[" + channels + "," +
                 std::to_string(width) + ",3,3]) {padding=[1,1], groups=" +
                 std::to_string(groups) + "} : f32[8," + channels + ",16,16]\n",
             {.torch = torch})
      .at(0);
}

TEST(PaddedConvolution, IsOfGroupsThatATileHoldsByCudnn910) {
  const Machine machine = MakeMachine(test::RoundHopper(), {});
  EXPECT_TRUE(HasPaddedGroups(InGroups(4, 16), machine));
  EXPECT_FALSE(HasPaddedGroups(InGroups(1, 16), machine));
  EXPECT_FALSE(HasPaddedGroups(InGroups(4, 48), machine));
  EXPECT_TRUE(HasPaddedGroups(InGroups(4, 49), machine));  // No vectors.
  EXPECT_FALSE(HasPaddedGroups(InGroups(4, 65), machine));
  EXPECT_TRUE(HasPaddedGroups(InGroups(4, 16, kCudnn910), machine));
  EXPECT_FALSE(
      HasPaddedGroups(InGroups(4, 16, {.major = 2, .minor = 7}), machine));
}

TEST(PaddedConvolution, MergesGroupsThatFitIntoATile) {
  const Machine machine = MakeMachine(test::RoundHopper(), {});
  const double whole_us = PaddedConvolutionUs(InGroups(4, 32), machine);
  EXPECT_DOUBLE_EQ(PaddedConvolutionUs(InGroups(8, 16), machine), whole_us);
  EXPECT_DOUBLE_EQ(PaddedConvolutionUs(InGroups(32, 4), machine), whole_us);
  // Two of 17 channels do not fit.
  EXPECT_DOUBLE_EQ(PaddedConvolutionUs(InGroups(8, 17), machine), 2 * whole_us);
}

TEST(PaddedConvolution, PadsBothSidesOfAWeightsGradient) {
  const Machine machine = MakeMachine(test::RoundHopper(), {});
  Kernel kernel = InGroups(1, 64);
  kernel.pass = ProductPass::kWeightGradient;
  kernel.m = 3;
  kernel.n = 65 * 9;
  kernel.k = 1000;
  // 9 elements of 96 x 64 channels; 10^8 FLOP per us in TF32.
  EXPECT_DOUBLE_EQ(PaddedConvolutionUs(kernel, machine),
                   2.0 * 1000 * 9 * 96 * 64 / 1e8 / 0.6);
}

TEST(PaddedConvolution, TakesATransposedOneForTheGradientOfAnInput) {
  Kernel kernel = InGroups(1, 64);
  EXPECT_EQ(PlainPass(kernel), ProductPass::kForward);
  kernel.kernel_class = KernelClass::kTransposedConvolution;
  EXPECT_EQ(PlainPass(kernel), ProductPass::kInputGradient);
  kernel.pass = ProductPass::kInputGradient;
  EXPECT_EQ(PlainPass(kernel), ProductPass::kForward);
}

}  // namespace
}  // namespace foretell::cost
