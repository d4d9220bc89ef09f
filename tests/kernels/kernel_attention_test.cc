#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/kernels_of.h"

// The kernel of fused attention. What else PyTorch calls for attention is in
// the graph: attention_calls_test.cc.

namespace foretell::cost {
namespace {

using testing::ElementsAre;

TEST(KernelAttention, IsOneKernelWhenFused) {
  // Two images of three heads, five queries and seven keys of eight numbers.
  const std::vector<Kernel> kernels = KernelsOf(R"(%q = input f16[2,3,5,8]
%k = input f16[2,3,7,8]
%v = input f16[2,3,7,4]
%y = scaled_dot_product_attention(%q, %k, %v) : f16[2,3,5,4]
)");
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("attention"));
  const Kernel& kernel = kernels[0];
  EXPECT_EQ(kernel.bytes_in, (240 + 336 + 168) * 2);
  EXPECT_EQ(kernel.bytes_out, 120 * 2);
  EXPECT_EQ(kernel.macs, 6 * 5 * 7 * (8 + 4));
  EXPECT_EQ(kernel.batch, 6);
  EXPECT_EQ(kernel.m, 5);
  EXPECT_EQ(kernel.n, 7);
  EXPECT_EQ(kernel.k, 8);
  EXPECT_FALSE(kernel.variant);
  EXPECT_EQ(kernel.arithmetic, Precision::kFp16);
}

TEST(KernelAttention, KnowsItsMask) {
  EXPECT_TRUE(KernelsOf(R"(%q = input f16[2,3,5,8]
%m = input bool[5,5]
%y = scaled_dot_product_attention(%q, %q, %q, %m) : f16[2,3,5,8]
)")[0]
                  .variant);
}

TEST(KernelAttention, SplitsFloat32IntoTf32) {
  EXPECT_EQ(KernelsOf(R"(%q = input f32[2,3,5,8]
%y = scaled_dot_product_attention(%q, %q, %q) : f32[2,3,5,8]
)")[0]
                .arithmetic,
            Precision::kTf32);
}

}  // namespace
}  // namespace foretell::cost
