#include "src/cost/grouped_convolution.h"

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

Machine Hopper(DeviceSpec& device) {
  device.compute_capability = 90;
  return MakeMachine(device, {});
}

TEST(GroupedConvolution, IsOfFewChannelsByCudnn919) {
  DeviceSpec device = test::RoundDevice();
  const Machine machine = Hopper(device);
  EXPECT_TRUE(HasPaddedGroups(InGroups(4, 16), machine));
  EXPECT_FALSE(HasPaddedGroups(InGroups(1, 16), machine));
  EXPECT_FALSE(HasPaddedGroups(InGroups(4, 64), machine));
  EXPECT_FALSE(
      HasPaddedGroups(InGroups(4, 16, {.major = 2, .minor = 5}), machine));
}

TEST(GroupedConvolution, MergesGroupsThatFitIntoATile) {
  DeviceSpec device = test::RoundDevice();
  const Machine machine = Hopper(device);
  const double whole_us = GroupedConvolutionUs(InGroups(4, 32), machine);
  EXPECT_DOUBLE_EQ(GroupedConvolutionUs(InGroups(8, 16), machine), whole_us);
  EXPECT_DOUBLE_EQ(GroupedConvolutionUs(InGroups(32, 4), machine), whole_us);
  // Two of 17 channels do not fit.
  EXPECT_DOUBLE_EQ(GroupedConvolutionUs(InGroups(8, 17), machine),
                   2 * whole_us);
}

}  // namespace
}  // namespace foretell::cost
