#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/kernels_of.h"

// Products of engines of TensorRT.

namespace foretell::cost {
namespace {

using testing::SizeIs;

TEST(EngineKernels, ProductsOfBytesAreInt8AndWeightsMayBeSparse) {
  const std::string product =
      "%x = input i8[4,8]\n"
      "%y = linear(%x, parameter i8[8,8]) : i8[4,8]\n";
  const auto dense = KernelsOf(product, {}, "runtime=\"tensorrt,int8\"");
  ASSERT_THAT(dense, SizeIs(1));
  EXPECT_TRUE(dense[0].int8);
  EXPECT_FALSE(dense[0].sparse);
  EXPECT_TRUE(
      KernelsOf(product, {}, "runtime=\"tensorrt,int8,sparse\"")[0].sparse);
  EXPECT_FALSE(KernelsOf(product)[0].int8);
}

TEST(EngineKernels, Float32IsMultipliedInTf32) {
  const std::string product =
      "%x = input f32[4,8]\n"
      "%y = linear(%x, parameter f32[8,8]) : f32[4,8]\n";
  EXPECT_EQ(KernelsOf(product)[0].arithmetic, Precision::kFp32);
  EXPECT_EQ(KernelsOf(product, {}, "runtime=\"tensorrt\"")[0].arithmetic,
            Precision::kTf32);
}

TEST(EngineKernels, AConvolutionAddsItsBiasItself) {
  const std::string convolution =
      "%x = input f16[1,8,8,8]\n"
      "%y = conv2d(%x, parameter f16[8,8,1,1], parameter f16[8]) : "
      "f16[1,8,8,8]\n";
  EXPECT_THAT(KernelsOf(convolution), SizeIs(2));
  EXPECT_THAT(KernelsOf(convolution, {}, "runtime=\"tensorrt\""), SizeIs(1));
}

}  // namespace
}  // namespace foretell::cost
