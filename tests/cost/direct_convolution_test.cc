#include "src/cost/direct_convolution.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/roofline.h"
#include "src/cost/tensor_convolution.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// Transposed, of volumes of 10^5 elements of 2 groups of `width` channels.
Kernel Transposed(const std::string& type, int width, int stride) {
  const std::string channels = std::to_string(2 * width);
  const std::string extents = stride == 1 ? "10,100,100" : "20,200,200";
  return KernelsOf("%x = input " + type + "[1," + channels +
                       ",10,100,100]\n%y = convolution(%x, weight " + type +
                       "[" + channels + "," + std::to_string(width) +
                       ",2,2,2]) {transposed=true, groups=2, stride=[" +
                       std::to_string(stride) + "," + std::to_string(stride) +
                       "," + std::to_string(stride) + "]} : " + type + "[1," +
                       channels + "," + extents + "]\n",
                   {.torch = kNewCudnn})
      .at(0);
}

class DirectConvolution : public testing::Test {
 protected:
  DirectConvolution() { device_.compute_capability = 90; }
  /// Cycles of a multiprocessor: 128 lanes of each of 100 reach 10^7 FLOP per
  /// us at 390.625 MHz.
  double CyclesOf(const Kernel& kernel) const {
    return DirectConvolutionUs(kernel, MakeMachine(device_, {})).value_or(0) *
           100 * 390.625;
  }

  DeviceSpec device_ = test::RoundDevice();
};

TEST_F(DirectConvolution, OfSixteenBitsThroughAStrideHasNoPaddedChannels) {
  constexpr double kMacs = 2 * 8e5 * 3 * 3;  // Each result has one element.
  const Kernel kernel = Transposed("f16", 3, 2);
  EXPECT_DOUBLE_EQ(CyclesOf(kernel), 2 * kMacs);
  const Machine machine = MakeMachine(device_, {});
  EXPECT_TRUE(IsDirectHalf(kernel, machine));
  EXPECT_EQ(ConversionUs(kernel, machine), 0);
  EXPECT_EQ(CyclesOf(Transposed("f16", 8, 2)), 0);
  EXPECT_EQ(CyclesOf(Transposed("f16", 3, 1)), 0);
}

TEST_F(DirectConvolution, OfVolumesThroughAStrideTakesLongForEachElement) {
  EXPECT_DOUBLE_EQ(CyclesOf(Transposed("f32", 8, 2)), 2 * 8e5 * 8 * 1.8);
  EXPECT_DOUBLE_EQ(CyclesOf(Transposed("f32", 200, 2)),
                   2 * 8e5 * 200 * 200 * 0.0147);
}

TEST_F(DirectConvolution, IsNoneOfOlderGpus) {
  device_.compute_capability = 80;
  EXPECT_EQ(CyclesOf(Transposed("f16", 3, 2)), 0);
}

}  // namespace
}  // namespace foretell::cost
