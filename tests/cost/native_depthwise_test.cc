#include "src/cost/native_depthwise.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// 64 lanes per multiprocessor take twice as long over an element of a window
/// as the 128 of the fit.
class NativeDepthwise : public testing::Test {
 protected:
  /// Cycles of a multiprocessor for each of `elements`.
  double CyclesOf(const Kernel& kernel, double elements) const {
    return NativeDepthwiseUs(kernel, machine_) * test::kRoundClockMhz * 100 /
           elements;
  }
  double OfWindow(const std::string& window) const {
    const std::string body =
        "%x = input f32[8,64,66,66]\n%y = conv2d(%x, weight f32[64,1," +
        window +
        "]) {stride=[1, 1], padding=[0, 0], dilation=[1, 1], "
        "groups=64} : f32[8,64,64,64]\n";
    return CyclesOf(KernelsOf(body).at(0), 8 * 64 * 64 * 64);
  }

  DeviceSpec device_ = test::RoundDevice();
  Machine machine_ = MakeMachine(device_, {});
};

/// Of 8 images of 64 channels and 32 x 32 elements, windows of 3 x 3.
std::vector<Kernel> DepthwiseGradientsOf(const std::string& result,
                                         const std::string& stride) {
  return KernelsOf(
      "%x = input f32[8,64,32,32]\n%dy = input f32[8,64," + result + "," +
      result +
      "]\n%w = parameter f32[64,1,3,3]\nphase backward\n%dx, %dw = "
      "convolution_backward(%dy, %x, %w) {stride=[" +
      stride + "," + stride +
      "], padding=[1,1], groups=64, output_mask=[1,1,0]} : "
      "f32[8,64,32,32], f32[64,1,3,3]\n");
}

TEST_F(NativeDepthwise, KnowsCompiledWindows) {
  EXPECT_DOUBLE_EQ(OfWindow("3,3"), 1.6 + 9 * 0.21);
  EXPECT_DOUBLE_EQ(OfWindow("3,1"), 2.4 + 3 * 0.23);
}

TEST_F(NativeDepthwise, GoesOverTheWindowsOfResultsThatAStridePasses) {
  constexpr double kElements = 8 * 64 * 32 * 32;
  EXPECT_DOUBLE_EQ(CyclesOf(DepthwiseGradientsOf("32", "1").at(0), kElements),
                   3.5 + 9 * 0.25);
  EXPECT_DOUBLE_EQ(CyclesOf(DepthwiseGradientsOf("16", "2").at(0), kElements),
                   3.5 + 9 * 0.25);
  // A stride of 3 is not compiled in.
  EXPECT_DOUBLE_EQ(CyclesOf(DepthwiseGradientsOf("11", "3").at(0), kElements),
                   2.1 + 9 * 1.2);
}

TEST_F(NativeDepthwise, SumsAWeightsGradientByAWarpForEachImage) {
  // 576 blocks of 8 warps go over 32 lines of 32 results of an image each; the
  // 5.76 blocks of a multiprocessor run at a time.
  EXPECT_NEAR(
      NativeDepthwiseUs(DepthwiseGradientsOf("32", "1").at(1), machine_),
      32 * (220 + 7.8 * 5.76 * 8) / test::kRoundClockMhz, 1e-9);
}

}  // namespace
}  // namespace foretell::cost
