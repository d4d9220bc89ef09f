#include "src/cost/tensor_convolution.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "src/cost/kernel_time.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

using RunAs = foretell::Run;

/// 3 x 3 on 8 images of 64 channels.
Kernel SquareWindow(const std::string& type, const RunAs& run = {}) {
  return KernelsOf("%x = input " + type + "[8,64,16,16]\n%y = conv2d(%x, " +
                       "weight " + type + "[64,64,3,3]) {padding=[1,1]} : " +
                       type + "[8,64,16,16]\n",
                   run)
      .at(0);
}

Machine MachineOf(DeviceSpec& device, int capability) {
  device.compute_capability = capability;
  return MakeMachine(device, {});
}

/// Share of its images that a convolution copies twice.
double CopiedShare(const Kernel& kernel, int capability) {
  DeviceSpec device = test::RoundDevice();
  const double bytes = Real(kernel.bytes_in + kernel.bytes_out);
  return ConversionUs(kernel, MachineOf(device, capability)) * 1e6 * 0.8 /
         (2 * bytes);
}

TEST(TensorConvolution, CopiesMostImagesOfTf32) {
  EXPECT_DOUBLE_EQ(CopiedShare(SquareWindow("f32"), 80), 0.7);
  EXPECT_DOUBLE_EQ(CopiedShare(SquareWindow("f32"), 86), 0.7);
  EXPECT_EQ(CopiedShare(SquareWindow("f32"), 70), 0);  // On FP32 lanes.
  EXPECT_EQ(CopiedShare(SquareWindow("f32", {.channels_last = true}), 80), 0);
}

TEST(TensorConvolution, CopiesImagesOfSixteenBitsWhereItsKernelsAskForIt) {
  for (const int capability : {80, 90, 100, 120}) {
    EXPECT_DOUBLE_EQ(CopiedShare(SquareWindow("f16"), capability), 0.4);
  }
  for (const int capability : {70, 75, 86, 89}) {
    EXPECT_EQ(CopiedShare(SquareWindow("bf16"), capability), 0);
  }
  EXPECT_EQ(CopiedShare(SquareWindow("f16", {.channels_last = true}), 80), 0);
}

TEST(TensorConvolution, ReadsChannelsLastImagesOfSixteenBitsAtFullRate) {
  DeviceSpec device = test::RoundDevice();
  const Machine machine = MachineOf(device, 86);
  const auto share = [&](const std::string& type, const RunAs& run = {}) {
    return TensorConvolutionShare(SquareWindow(type, run), machine);
  };
  EXPECT_DOUBLE_EQ(share("f16"), 0.8);
  EXPECT_DOUBLE_EQ(share("f16", {.channels_last = true}), 1.0);
  EXPECT_DOUBLE_EQ(share("f32", {.channels_last = true}), 1.0);
}

/// 3 x 3 on channels-last images of 128 channels in groups.
Kernel InGroups(std::int64_t groups) {
  return KernelsOf(
             "%x = input f16[8,128,16,16]\n%y = conv2d(%x, weight "
             "f16[128," +
                 std::to_string(128 / groups) +
                 ",3,3]) {padding=[1,1], groups=" + std::to_string(groups) +
                 "} : f16[8,128,16,16]\n",
             {.channels_last = true})
      .at(0);
}

TEST(TensorConvolution, ReachesHalfInChannelsLastGroupsOfManyChannels) {
  DeviceSpec device = test::RoundDevice();
  const Machine machine = MachineOf(device, 86);
  EXPECT_DOUBLE_EQ(TensorConvolutionShare(InGroups(1), machine), 1.0);
  EXPECT_DOUBLE_EQ(TensorConvolutionShare(InGroups(2), machine), 0.5);
  EXPECT_DOUBLE_EQ(TensorConvolutionShare(InGroups(4), machine), 1.0);
}

TEST(TensorConvolution, MultipliesByAmperesInstructionOnHopper) {
  DeviceSpec device = test::RoundDevice();
  const Kernel kernel = SquareWindow("f16");
  const double ampere = TimeOf(kernel, MachineOf(device, 80)).arithmetic_us;
  EXPECT_DOUBLE_EQ(TimeOf(kernel, MachineOf(device, 90)).arithmetic_us,
                   ampere / 0.63);
  EXPECT_DOUBLE_EQ(TimeOf(kernel, MachineOf(device, 120)).arithmetic_us,
                   ampere);
}

}  // namespace
}  // namespace foretell::cost
