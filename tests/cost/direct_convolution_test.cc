#include "src/cost/direct_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/cost/float_convolution.h"
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
  /// Cycles of one of 100 multiprocessors.
  static double CyclesIn(double us) {
    return us * 100 * test::kRoundHopperClockMhz;
  }
  double CyclesOf(const Kernel& kernel) const {
    return CyclesIn(DirectConvolutionUs(kernel, machine_).value_or(0));
  }

  Machine machine_ = MakeMachine(test::RoundHopper(), {});
};

TEST_F(DirectConvolution, OfSixteenBitsGoesOverTheWholeWindow) {
  constexpr double kResults = 2 * 8e5 * 3;
  // A stride leaves each result one of 8 elements; the kernel visits all.
  const Kernel kernel = Transposed("f16", 3, 2);
  EXPECT_TRUE(ReadsImagesDirectly(kernel, machine_));
  EXPECT_EQ(ConversionUs(kernel, machine_), 0);
  const Kernel even = Transposed("f16", 2, 2);
  EXPECT_DOUBLE_EQ(CyclesOf(even), 2 * 8e5 * 2 * (1 + 8 * 2 * 0.31));
  // Few odd channels have another kernel.
  EXPECT_DOUBLE_EQ(CyclesOf(kernel), kResults * 3 * 30 / 3);
  EXPECT_EQ(CyclesOf(Transposed("f16", 8, 2)), 0);
  EXPECT_EQ(CyclesOf(Transposed("f16", 3, 1)), 0);
}

TEST_F(DirectConvolution, OfVolumesThroughAStrideTakesLongForEachElement) {
  EXPECT_DOUBLE_EQ(CyclesOf(Transposed("f32", 8, 2)),
                   2 * 8e5 * 8 * (1.5 + 2.1));
  EXPECT_DOUBLE_EQ(CyclesOf(Transposed("f32", 200, 2)),
                   2 * 8e5 * 200 * (1.5 + 200 * 0.0147));
}

TEST_F(DirectConvolution, OfVolumesOnLanesTakesTheFasterKernel) {
  Kernel kernel = Transposed("f32", 64, 1);
  kernel.arithmetic = Precision::kFp32;
  const double engine = 2 * 1e5 * 64 * (1.5 + 8 * 2.1);
  const double tiles = CyclesIn(FloatConvolutionUs(kernel, machine_));
  EXPECT_DOUBLE_EQ(CyclesOf(kernel), std::min(engine, tiles));
  kernel.stride_elements = 2;
  EXPECT_NEAR(CyclesOf(kernel), 2 * 1e5 * 64 * (1.5 + 8 * 64 * 2.1 / 64), 1e-3);
}

TEST_F(DirectConvolution, OfImagesOnLanesThroughAStrideDependsOnChannels) {
  Kernel kernel = Transposed("f32", 2, 2);
  kernel.volume = false;
  EXPECT_DOUBLE_EQ(CyclesOf(kernel), 2 * 8e5 * 2 * (1.5 + 2 * 3.3 / 2));
  kernel.arithmetic = Precision::kFp32;
  EXPECT_DOUBLE_EQ(CyclesOf(kernel), 2 * 8e5 * 2 * (1 + 8 * 2 * 0.31));
}

TEST_F(DirectConvolution, OfLargeWindowsTakesGroupAfterGroup) {
  const auto kernel = [](const std::string& type) {
    return KernelsOf("%x = input " + type +
                         "[1,16,14,14,14]\n%y = conv3d(%x, weight " + type +
                         "[80,8,5,5,5]) {groups=2} : " + type +
                         "[1,80,10,10,10]\n",
                     {.torch = kNewCudnn})
        .at(0);
  };
  // Two groups of sums of 1,000; 32 x 2 tiles of 32 x 32 on 100 SMs, and as
  // much again before the first; of 16 bits 16 tiles of 64 x 128.
  EXPECT_DOUBLE_EQ(CyclesOf(kernel("f32")), 2 * 1000 * 41.0 * (64 + 100));
  EXPECT_DOUBLE_EQ(CyclesOf(kernel("f16")), 2 * 1000 * 146.0 * (16 + 400));
}

TEST_F(DirectConvolution, OfImagesInFewGroupsHasTilesForTheirGradients) {
  Kernel kernel = Transposed("f32", 20, 1);
  kernel.volume = false;
  ASSERT_TRUE(HasGroupTiles(kernel));
  EXPECT_DOUBLE_EQ(CyclesOf(kernel), 2 * 8 * 20 * 27.0 * (3125 + 100));
  kernel.groups = 5;
  EXPECT_EQ(CyclesOf(kernel), 0);
}

TEST_F(DirectConvolution, OfImagesOnLanesIsTheFasterKernel) {
  Kernel kernel = Transposed("f32", 20, 2);
  kernel.volume = false;
  kernel.groups = kernel.batch = 1;
  EXPECT_EQ(CyclesOf(kernel), 0);
  kernel.arithmetic = Precision::kFp32;
  EXPECT_GT(CyclesOf(kernel), 0);
  EXPECT_LE(CyclesOf(kernel), CyclesIn(FloatConvolutionUs(kernel, machine_)));
}

TEST_F(DirectConvolution, IsNoneOfOlderGpus) {
  machine_ = MakeMachine(test::A100(), {});
  EXPECT_EQ(CyclesOf(Transposed("f16", 3, 2)), 0);
}

}  // namespace
}  // namespace foretell::cost
