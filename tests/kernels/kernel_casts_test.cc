#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

using testing::ElementsAre;

constexpr char kAutocast[] = "autocast=f16";

// Two linear layers of one input and weight: PyTorch casts the activation for
// each and keeps the weight's cast.
TEST(KernelCasts, AreThoseOfTheTrace) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f32[8,32]
%w = parameter f32[16,32]
%a = to(%x) {autocast=true} : f16[8,32]
%v = to(%w) {autocast=true} : f16[16,32]
%y = linear(%a, %v) : f16[8,16]
%b = to(%x) {autocast=true} : f16[8,32]
%z = linear(%b, %v) : f16[8,16]
)",
                                                {}, kAutocast);
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("cast_down", "cast_weight",
                                              "linear", "cast_down", "linear"));
  EXPECT_EQ(kernels[0].bytes_in, 8 * 32 * 4);
  EXPECT_EQ(kernels[0].bytes_out, 8 * 32 * 2);
  EXPECT_EQ(kernels[0].element_bytes_in, 4);
  EXPECT_EQ(kernels[0].element_bytes_out, 2);
  EXPECT_EQ(kernels[1].bytes_in, 0);
  EXPECT_EQ(kernels[1].bytes_weight, 16 * 32 * 4);
  EXPECT_EQ(kernels[1].bytes_out, 16 * 32 * 2);
  EXPECT_EQ(kernels[2].bytes_in, 8 * 32 * 2);
  EXPECT_EQ(kernels[2].bytes_weight, 16 * 32 * 2);
  EXPECT_EQ(kernels[2].bytes_out, 8 * 16 * 2);
  EXPECT_EQ(kernels[2].arithmetic, Precision::kFp16);
}

TEST(KernelCasts, GoUpForANormInFloat) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%h = input f16[8,32]
%f = to(%h) {autocast=true} : f32[8,32]
%y = layer_norm(%f, parameter f32[32]) : f32[8,32]
)",
                                                {}, kAutocast);
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("cast_up", "layer_norm"));
  EXPECT_EQ(kernels[0].bytes_in, 8 * 32 * 2);
  EXPECT_EQ(kernels[0].bytes_out, 8 * 32 * 4);
  EXPECT_EQ(kernels[1].bytes_weight, 32 * 4);
}

// A cast keeps the order of what it casts.
TEST(KernelCasts, LieAsWhatTheyCast) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f32[8,32]
%t = transpose(%x) {dim0=0, dim1=1} : f32[32,8] strides=[1, 32] alias %x
%a = to(%t) {autocast=true} : f16[32,8] strides=[1, 32]
%b = relu(%a) : f16[32,8] strides=[1, 32]
%r = reshape(%b) {shape=[256]} : f16[256]
)",
                                                {}, kAutocast);
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("cast_down", "relu", "copy"));
  EXPECT_FALSE(kernels[1].mixed_layouts);
  EXPECT_TRUE(kernels[2].mixed_layouts);
}

TEST(KernelCasts, LetASoftmaxReadHalfAndWriteFloat) {
  const Kernel softmax =
      KernelsOf("%h = input f16[8,32]\n%y = softmax(%h) {dim=-1} : f32[8,32]\n",
                {}, kAutocast)
          .front();
  EXPECT_EQ(softmax.bytes_in, 8 * 32 * 2);
  EXPECT_EQ(softmax.bytes_out, 8 * 32 * 4);
  EXPECT_EQ(softmax.element_bytes_in, 2);
  EXPECT_EQ(softmax.element_bytes_out, 4);
}

TEST(KernelCasts, LeaveTheNamesOfFoldedNormsToBeSeen) {
  constexpr foretell::Run kRestored = {.restore_folded_norms = true};
  EXPECT_THAT(ClassesOf(KernelsOf(R"(%x = input f32[8,16,4,4]
%W = parameter f32[16,16,1,1]
%W_bias = parameter f32[16]
%a = to(%x) {autocast=true} : f16[8,16,4,4]
%v = to(%W) {autocast=true} : f16[16,16,1,1]
%b = to(%W_bias) {autocast=true} : f16[16]
%y = conv2d(%a, %v, %b) : f16[8,16,4,4]
)",
                                  kRestored, kAutocast)),
              ElementsAre("cast_down", "cast_weight", "cast_weight",
                          "conv_pointwise", "batch_norm_folded"));
}

TEST(KernelCasts, OfTheProgramAreLikeAutocasts) {
  EXPECT_THAT(ClassesOf(R"(%x = input f16[8,32]
%y = to(%x) : f32[8,32]
%z = to(%y) : f16[8,32]
)"),
              ElementsAre("cast_up", "cast_down"));
}

TEST(KernelCasts, ToWholeNumbersAreCopies) {
  EXPECT_THAT(ClassesOf(R"(%x = input f32[8,32]
%y = to(%x) : i32[8,32]
)"),
              ElementsAre("copy"));
}

}  // namespace
}  // namespace foretell::cost
