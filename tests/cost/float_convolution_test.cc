#include "src/cost/float_convolution.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/kernel_time.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// Direct time over that at the peak of FP32 lanes.
double RatioOf(const Kernel& kernel) {
  DeviceSpec device = test::RoundDevice();
  device.compute_capability = 70;  // No TF32 units.
  const Machine machine = MakeMachine(device, {});
  return FloatConvolutionUs(kernel, machine) /
         TimeOf(kernel, machine).at_peak_us;
}

/// A convolution of 1 x 1 on 32 images of 80 x 80.
Kernel Forward(const std::string& in, const std::string& out) {
  return KernelsOf("%x = input f32[32," + in +
                       ",80,80]\n%y = conv2d(%x, weight f32[" + out + "," + in +
                       ",1,1]) : f32[32," + out + ",80,80]\n",
                   {})
      .at(0);
}

/// Both gradients of a convolution of 256 by 256 channels.
std::vector<Kernel> Gradients(const std::string& stride,
                              const std::string& size) {
  const std::string image = "f32[32,256,80,80]";
  return KernelsOf(
      "%x = input " + image + "\n%dy = input f32[32,256," + size + "," + size +
          "]\n%w = parameter f32[256,256,1,1]\nphase backward\n"
          "%dx, %dw = convolution_backward(%dy, %x, %w) {stride=[" +
          stride + "," + stride + "], output_mask=[1,1,0]} : " + image +
          ", f32[256,256,1,1]\n",
      {}, "mode=training");
}

TEST(FloatConvolution, RunsNearThePeakInNarrowTiles) {
  EXPECT_LT(RatioOf(Forward("256", "256")), 1.3);
  EXPECT_LT(RatioOf(Forward("256", "64")), 1.5);
  EXPECT_LT(RatioOf(Forward("256", "32")), 1.7);
}

TEST(FloatConvolution, SlowsDownOnChannelsThatDoNotComeInFours) {
  const double even = RatioOf(Forward("256", "256"));
  EXPECT_GT(RatioOf(Forward("254", "254")), 1.4 * even);
  EXPECT_NEAR(RatioOf(Forward("252", "252")), even, 0.1 * even);
}

TEST(FloatConvolution, GathersGradientsThroughAStride) {
  const double plain = RatioOf(Gradients("1", "80")[0]);
  EXPECT_GT(plain, RatioOf(Forward("256", "256")));
  EXPECT_GT(RatioOf(Gradients("2", "40")[0]), 1.4 * plain);
}

TEST(FloatConvolution, DividesTheLongSumsOfWeights) {
  // Four tiles of 128 x 128 alone would fill 4 of 100 SMs.
  EXPECT_LT(RatioOf(Gradients("1", "80")[1]), 2);
}

}  // namespace
}  // namespace foretell::cost
