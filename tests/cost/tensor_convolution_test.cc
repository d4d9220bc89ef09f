#include "src/cost/tensor_convolution.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/cost/gemm.h"
#include "src/cost/kernel_time.h"
#include "src/cost/roofline.h"
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

/// An engine's kernels of 8 bits read images as those of 16 do, first layers
/// too.
TEST(TensorConvolution, ReadsImagesOfEightBitsAsThoseOfSixteen) {
  DeviceSpec device = test::RoundDevice();
  const Machine machine = MachineOf(device, 80);
  Kernel kernel = SquareWindow("f16", {.channels_last = true});
  kernel.element_bytes_in = 1;
  kernel.int8 = true;
  EXPECT_DOUBLE_EQ(TensorConvolutionShare(kernel, machine), 1.0);
  kernel.channels_in = 3;
  EXPECT_DOUBLE_EQ(TensorConvolutionShare(kernel, machine), 1.0);
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

/// The gradients of a convolution of `window` on 8 images of 64 channels.
std::vector<Kernel> GradientsOf(const std::string& window,
                                const std::string& more = "") {
  const bool transposed = !more.empty();
  return KernelsOf("%x = input f32[8,64,16,16]\n%w = parameter f32[64,64," +
                       window + "," + window + "]\n%dy = input f32[8,64," +
                       (transposed ? "32,32" : "16,16") +
                       "]\nphase backward\n%dx, %dw = "
                       "convolution_backward(%dy, %x, %w) {" +
                       more + "output_mask=[1,1,0]} : f32[8,64,16,16], " +
                       "f32[64,64," + window + "," + window + "]\n",
                   {.torch = kNewCudnn});
}

TEST(TensorConvolution, OfCudnn9CopiesNothingForGradientsOfProducts) {
  for (const Kernel& kernel : GradientsOf("1")) {
    EXPECT_EQ(CopiedShare(kernel, 90), 0);
  }
  EXPECT_DOUBLE_EQ(CopiedShare(SquareWindow("f32", {.torch = kNewCudnn}), 90),
                   1);
}

/// Of `window` on an image or volume of `channels`, to 64.
Kernel Stem(const std::string& channels, const std::string& window,
            const std::string& places,
            const TorchVersion& torch = {.major = 2, .minor = 5}) {
  return KernelsOf("%x = input f32[8," + channels + "," + places +
                       "]\n%y = convolution(%x, weight f32[64," + channels +
                       "," + window + "]) {padding=[1]} : f32[8,64," + places +
                       "]\n",
                   {.torch = torch})
      .at(0);
}

TEST(TensorConvolution, CopiesImagesOfFewChannelsSinceCudnn910OnHopper) {
  const Kernel image = Stem("3", "3,3", "16,16", kCudnn910);
  EXPECT_DOUBLE_EQ(CopiedShare(image, 90), 1.9 * 0.8);
  EXPECT_EQ(CopiedShare(image, 80), 0);
  EXPECT_EQ(CopiedShare(Stem("3", "3,3", "16,16"), 90), 0);
}

TEST(TensorConvolution, LooksNoElementsUpSinceCudnn910OnHopper) {
  DeviceSpec device = test::RoundDevice();
  const auto share = [&](const TorchVersion& torch, int capability) {
    return TensorConvolutionShare(Stem("64", "5,9", "16,16", torch),
                                  MachineOf(device, capability));
  };
  EXPECT_DOUBLE_EQ(share({.major = 2, .minor = 7}, 90), 0.65 * 0.63);
  EXPECT_DOUBLE_EQ(share(kCudnn910, 90), 0.63);
  EXPECT_DOUBLE_EQ(share(kCudnn910, 80), 0.65);
}

TEST(TensorConvolution, ReadsWhatAStrideLeavesOfImagesByCudnn919) {
  DeviceSpec device = test::RoundDevice();
  const auto passed = [&](const RunAs& run, const std::string& window,
                          int capability = 90) {
    const Kernel kernel =
        KernelsOf(
            "%x = input f32[8,64,16,16]\n%y = conv2d(%x, weight "
            "f32[64,64," +
                window + "]) {stride=[2,2]} : f32[8,64,8,8]\n",
            run)
            .at(0);
    return PassedBytes(kernel, MachineOf(device, capability));
  };
  constexpr double kImages = 8 * 64 * 256 * 4;
  EXPECT_EQ(passed({.channels_last = true, .torch = kNewCudnn}, "1,1"),
            kImages * 3 / 4);
  EXPECT_EQ(passed({.torch = kNewCudnn}, "1,1"), 0);
  EXPECT_EQ(passed({.channels_last = true, .torch = kNewCudnn}, "3,3"), 0);
  EXPECT_EQ(passed({.channels_last = true, .torch = kNewCudnn}, "1,1", 80), 0);
  EXPECT_EQ(passed({.channels_last = true, .torch = kCudnn910}, "1,1"), 0);
}

TEST(TensorConvolution, OfNarrowTransposedVolumesRunsOnLanesByCudnn910) {
  DeviceSpec device = test::RoundDevice();
  const Machine hopper = MachineOf(device, 90);
  const auto volume = [](const std::string& channels,
                         const TorchVersion& torch) {
    return KernelsOf(
               "%x = input f32[8,48,16,16,16]\n"
               "%y = conv_transpose3d(%x, weight f32[48," +
                   channels + ",3,3,3]) : f32[8," + channels + ",18,18,18]\n",
               {.torch = torch})
        .at(0);
  };
  EXPECT_TRUE(RunsOnLanes(volume("24", kCudnn910), hopper));
  EXPECT_FALSE(RunsOnLanes(volume("64", kCudnn910), hopper));
  EXPECT_FALSE(RunsOnLanes(volume("24", kNewCudnn), hopper));
  EXPECT_FALSE(RunsOnLanes(volume("24", {.major = 2, .minor = 7}), hopper));
  // A tile of 64 channels takes as long, whatever part of it is there.
  EXPECT_DOUBLE_EQ(TimeOf(volume("24", kCudnn910), hopper).arithmetic_us,
                   TimeOf(volume("48", kCudnn910), hopper).arithmetic_us);
}

TEST(TensorConvolution, OfFewChannelsOfVolumesRunsOnLanesOnHopper) {
  DeviceSpec device = test::RoundDevice();
  const Kernel volume = Stem("3", "3,3,3", "16,16,16");
  EXPECT_TRUE(RunsOnLanes(volume, MachineOf(device, 90)));
  EXPECT_EQ(ConversionUs(volume, MachineOf(device, 90)), 0);
  EXPECT_FALSE(RunsOnLanes(volume, MachineOf(device, 80)));
  EXPECT_FALSE(RunsOnLanes(Stem("3", "3,3", "16,16"), MachineOf(device, 90)));
  EXPECT_FALSE(
      RunsOnLanes(Stem("8", "3,3,3", "16,16,16"), MachineOf(device, 90)));
}

TEST(TensorConvolution, OfOneElementMultipliesImagesAsTheyLieSinceCudnn9) {
  DeviceSpec device = test::RoundDevice();
  const Kernel product = Stem("64", "1,1", "16,16");
  EXPECT_TRUE(IsBatchedProduct(product, MachineOf(device, 90)));
  EXPECT_FALSE(IsBatchedProduct(product, MachineOf(device, 80)));
  Kernel older = product;
  older.torch = {.major = 2, .minor = 3};
  EXPECT_FALSE(IsBatchedProduct(older, MachineOf(device, 90)));
}

TEST(TensorConvolution, OfTransposedVolumesGoesInStepsOfChannels) {
  const auto volume = [](const std::string& channels) {
    return KernelsOf("%x = input f32[8," + channels +
                     ",16,16,16]\n%y = conv_transpose3d(%x, weight f32[" +
                     channels + ",64,3,3,3]) : f32[8,64,18,18,18]\n")
        .at(0);
  };
  const Machine machine = MakeMachine(test::A100(), {});
  ASSERT_TRUE(HasChannelSteps(volume("3"), machine));
  EXPECT_DOUBLE_EQ(TensorConvolutionShare(volume("3"), machine),
                   TensorConvolutionShare(volume("32"), machine));
  EXPECT_DOUBLE_EQ(TimeOf(volume("3"), machine).arithmetic_us,
                   TimeOf(volume("32"), machine).arithmetic_us);
}

TEST(TensorConvolution, LooksLargeWindowsUpBeforeCudnn919) {
  DeviceSpec device = test::RoundDevice();
  const Machine machine = MachineOf(device, 90);
  const double plain =
      TensorConvolutionShare(Stem("64", "3,3", "16,16"), machine);
  EXPECT_DOUBLE_EQ(TensorConvolutionShare(Stem("64", "5,7", "16,16"), machine),
                   0.65 * plain);
}

TEST(TensorConvolution, OfCudnn9IsSlowAtWeightsInTf32) {
  DeviceSpec device = test::RoundDevice();
  const Machine machine = MachineOf(device, 90);
  const std::vector<Kernel> gradients = GradientsOf("1");
  EXPECT_DOUBLE_EQ(TensorConvolutionShare(gradients[1], machine),
                   0.42 * TensorConvolutionShare(gradients[0], machine));
}

TEST(TensorConvolution, OfAWeightFillsTheDeviceWithParts) {
  DeviceSpec device = test::RoundDevice();
  const Machine machine = MachineOf(device, 80);
  constexpr double kRate = 1e8;
  GemmShape shape = {.m = 64, .n = 64, .k = 1 << 22};
  const double sixteen_parts_us =
      GemmUs(shape, MatrixUnit::kTensorConvolution, kRate, machine);
  shape.divides = true;
  // A part for each of 64 of 100 multiprocessors, instead of 16.
  EXPECT_NEAR(sixteen_parts_us /
                  GemmUs(shape, MatrixUnit::kTensorConvolution, kRate, machine),
              4, 1.5);
}

}  // namespace
}  // namespace foretell::cost
