#include "src/cost/strided_gradient.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// Transposed, of images of `in` channels to `out`, with a stride of 2.
Kernel Transposed(const std::string& in, const std::string& out,
                  const std::string& dilation = "1") {
  return KernelsOf("%x = input f32[64," + in +
                       ",32,32]\n%y = convolution(%x, weight f32[" + in + "," +
                       out + ",4,4]) {transposed=true, stride=[2,2], " +
                       "padding=[1,1], dilation=[" + dilation + "," + dilation +
                       "]} : f32[64," + out + ",64,64]\n",
                   {})
      .at(0);
}

double UsOn(const Kernel& kernel, int capability) {
  DeviceSpec device = test::RoundDevice();
  device.compute_capability = capability;
  return StridedGradientUs(kernel, MakeMachine(device, {}));
}

TEST(StridedGradient, IsOfTransposedConvolutionsWithAStride) {
  Kernel kernel = Transposed("64", "64");
  EXPECT_TRUE(GoesThroughStride(kernel));
  kernel.pass = ProductPass::kInputGradient;  // A plain one.
  EXPECT_FALSE(GoesThroughStride(kernel));
  kernel.kernel_class = KernelClass::kDenseConvolution;
  EXPECT_TRUE(GoesThroughStride(kernel));
  kernel.stride_elements = 1;
  EXPECT_FALSE(GoesThroughStride(kernel));
}

TEST(StridedGradient, SumsOverWhatTheStrideLeaves) {
  EXPECT_EQ(Transposed("64", "64").k, 64 * 4);
  EXPECT_EQ(Transposed("64", "64").taps, 16);
}

TEST(StridedGradient, PadsChannelsToTiles) {
  EXPECT_DOUBLE_EQ(UsOn(Transposed("64", "3"), 90),
                   UsOn(Transposed("64", "64"), 90));
  EXPECT_DOUBLE_EQ(UsOn(Transposed("3", "64"), 90),
                   UsOn(Transposed("32", "64"), 90));
  EXPECT_DOUBLE_EQ(UsOn(Transposed("64", "65"), 90),
                   2 * UsOn(Transposed("64", "64"), 90));
}

TEST(StridedGradient, TakesTheWholeWindowWhereItHasGapsOnHopper) {
  const Kernel plain = Transposed("64", "64");
  const Kernel dilated = Transposed("64", "64", "2");
  EXPECT_DOUBLE_EQ(UsOn(dilated, 80), UsOn(plain, 80));
  // 16 elements of 64 channels instead of 4, and the start of a tile.
  EXPECT_DOUBLE_EQ(UsOn(dilated, 90) / UsOn(plain, 90),
                   (16 * 64 + 132.0) / (4 * 64 + 132));
}

}  // namespace
}  // namespace foretell::cost
