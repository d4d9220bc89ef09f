#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

using testing::ElementsAre;

constexpr char kTwoLinears[] = R"(%x = input f32[8,32]
%w = parameter f32[16,32]
%y = linear(%x, %w) : f32[8,16]
%z = linear(%x, %w) : f32[8,16]
)";

TEST(KernelCasts, AreNoneWithoutAutocast) {
  EXPECT_THAT(ClassesOf(kTwoLinears), ElementsAre("linear", "linear"));
}

// Nothing remembers the activation's cast, the weight's is kept for the step.
TEST(KernelCasts, TakeAnActivationPerUseAndAWeightOnce) {
  const std::vector<Kernel> kernels = KernelsOf(kTwoLinears, kAutocast);
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("cast_down", "cast_weight",
                                              "linear", "cast_down", "linear"));
  EXPECT_EQ(kernels[0].bytes_in, 8 * 32 * 4);
  EXPECT_EQ(kernels[0].bytes_out, 8 * 32 * 2);
  EXPECT_EQ(kernels[0].element_bytes_in, 4);
  EXPECT_EQ(kernels[0].element_bytes_out, 2);
  EXPECT_EQ(kernels[1].bytes_in, 0);
  EXPECT_EQ(kernels[1].bytes_weight, 16 * 32 * 4);
  EXPECT_EQ(kernels[1].bytes_out, 16 * 32 * 2);
}

TEST(KernelCasts, LetAProductReadAndWriteHalf) {
  const Kernel linear = KernelsOf(kTwoLinears, kAutocast)[2];
  EXPECT_EQ(linear.bytes_in, 8 * 32 * 2);
  EXPECT_EQ(linear.bytes_weight, 16 * 32 * 2);
  EXPECT_EQ(linear.bytes_out, 8 * 16 * 2);
  EXPECT_EQ(linear.arithmetic, Precision::kFp16);
}

/// kTwoLinears traced under autocast.
constexpr char kTracedCasts[] = R"(%x = input f32[8,32]
%w = parameter f32[16,32]
%a = to(%x) {autocast=true} : f16[8,32]
%v = to(%w) {autocast=true} : f16[16,32]
%y = linear(%a, %v) : f16[8,16]
%b = to(%x) {autocast=true} : f16[8,32]
%z = linear(%b, %v) : f16[8,16]
)";

TEST(KernelCasts, AreNotAddedToThoseOfTheTrace) {
  std::vector<Kernel> added = KernelsOf(kTwoLinears, kAutocast);
  for (const foretell::Run& mode : {foretell::Run{}, kAutocast}) {
    std::vector<Kernel> traced = KernelsOf(kTracedCasts, mode, "autocast=f16");
    for (auto* kernels : {&added, &traced}) {
      for (Kernel& kernel : *kernels) kernel.node = kNone;
    }
    EXPECT_EQ(traced, added);
  }
}

TEST(KernelCasts, LeaveTheNamesOfFoldedNormsToBeSeen) {
  constexpr foretell::Run kRestored = {.autocast = true,
                                       .restore_folded_norms = true};
  EXPECT_THAT(ClassesOf(KernelsOf(R"(%x = input f32[8,16,4,4]
%W = parameter f32[16,16,1,1]
%W_bias = parameter f32[16]
%a = to(%x) {autocast=true} : f16[8,16,4,4]
%v = to(%W) {autocast=true} : f16[16,16,1,1]
%b = to(%W_bias) {autocast=true} : f16[16]
%y = conv2d(%a, %v, %b) : f16[8,16,4,4]
)",
                                  kRestored, "autocast=f16")),
              ElementsAre("cast_down", "cast_weight", "cast_weight",
                          "conv_pointwise", "batch_norm_folded"));
}

TEST(KernelCasts, OfTheProgramAreCopies) {
  EXPECT_THAT(ClassesOf(R"(%x = input f16[8,32]
%y = to(%x) : f32[8,32]
)"),
              ElementsAre("copy"));
}

// The sources of a graph traced in f16 are f32 under autocast.
TEST(KernelCasts, DoNotDependOnTheTypeOfTheTrace) {
  EXPECT_EQ(KernelsOf(R"(%x = input f16[8,32]
%y = linear(%x, parameter f16[16,32]) : f16[8,16]
)",
                      kAutocast),
            KernelsOf(R"(%x = input f32[8,32]
%y = linear(%x, parameter f32[16,32]) : f32[8,16]
)",
                      kAutocast));
}

TEST(KernelCasts, HandHalfFromProductToProduct) {
  EXPECT_THAT(ClassesOf(R"(%x = input f32[8,32]
%y = linear(%x, parameter f32[32,32]) : f32[8,32]
%r = relu(%y) : f32[8,32]
%z = linear(%r, parameter f32[32,32]) : f32[8,32]
)",
                        kAutocast),
              ElementsAre("cast_down", "cast_weight", "linear", "relu",
                          "cast_weight", "linear"));
}

constexpr char kHalf[] = R"(%x = input f32[8,32]
%h = linear(%x, parameter f32[32,32]) : f32[8,32]
)";
/// Kernels of kHalf under autocast.
constexpr std::size_t kBefore = 3;

TEST(KernelCasts, TakeALayerNormToFloat) {
  const std::vector<Kernel> kernels =
      KernelsOf(std::string(kHalf) +
                    "%y = layer_norm(%h, parameter f32[32]) : f32[8,32]\n",
                kAutocast);
  ASSERT_EQ(kernels.size(), kBefore + 2);
  const Kernel& cast = kernels[kBefore];
  EXPECT_EQ(cast.kernel_class, KernelClass::kCastUp);
  EXPECT_EQ(cast.bytes_in, 8 * 32 * 2);
  EXPECT_EQ(cast.bytes_out, 8 * 32 * 4);
  const Kernel& norm = kernels[kBefore + 1];
  EXPECT_EQ(norm.kernel_class, KernelClass::kLayerNorm);
  EXPECT_EQ(norm.bytes_in, 8 * 32 * 4);
  EXPECT_EQ(norm.bytes_weight, 32 * 4);
  EXPECT_EQ(norm.bytes_out, 8 * 32 * 4);
  EXPECT_EQ(norm.inner_extent, 32);
}

TEST(KernelCasts, LeaveAGroupNormInHalfWhereTheRunDoes) {
  const std::string body =
      std::string(kHalf) + "%y = group_norm(%h) {num_groups=4} : f32[8,32]\n";
  foretell::Run run = kAutocast;
  EXPECT_EQ(KernelsOf(body, run).back().bytes_in, 8 * 32 * 4);
  run.half_group_norm = true;
  const std::vector<Kernel> kernels = KernelsOf(body, run);
  ASSERT_EQ(kernels.size(), kBefore + 1);
  EXPECT_EQ(kernels[kBefore].bytes_in, 8 * 32 * 2);
  EXPECT_EQ(kernels[kBefore].bytes_out, 8 * 32 * 2);
  EXPECT_EQ(kernels[kBefore].group_elements, 8);
}

TEST(KernelCasts, LeaveALayerNormInHalfWhereTheRunDoes) {
  const std::string body =
      std::string(kHalf) +
      "%y = layer_norm(%h, parameter f32[32]) : f32[8,32]\n";
  foretell::Run run = kAutocast;
  run.half_layer_norm = true;
  const std::vector<Kernel> kernels = KernelsOf(body, run);
  const Kernel& norm = kernels.back();
  EXPECT_EQ(norm.kernel_class, KernelClass::kLayerNorm);
  EXPECT_EQ(norm.bytes_in, 8 * 32 * 2);
  EXPECT_EQ(norm.bytes_weight, 32 * 2);
  EXPECT_EQ(norm.bytes_out, 8 * 32 * 2);
}

TEST(KernelCasts, LetASoftmaxReadHalfAndWriteFloat) {
  const std::vector<Kernel> kernels =
      KernelsOf(std::string(kHalf) + "%y = softmax(%h) {dim=-1} : f32[8,32]\n",
                kAutocast);
  ASSERT_EQ(kernels.size(), kBefore + 1);
  EXPECT_EQ(kernels.back().bytes_in, 8 * 32 * 2);
  EXPECT_EQ(kernels.back().bytes_out, 8 * 32 * 4);
  EXPECT_EQ(kernels.back().element_bytes_in, 2);
  EXPECT_EQ(kernels.back().element_bytes_out, 4);
}

TEST(KernelCasts, PromoteToFloatByTensorsNotByScalars) {
  const std::string body =
      std::string(kHalf) + "%s = input f32[]\n" + "%t = input f32[8,32]\n";
  EXPECT_EQ(KernelsOf(body + "%y = mul(%h, %s) : f32[8,32]\n", kAutocast)
                .back()
                .bytes_out,
            8 * 32 * 2);
  EXPECT_EQ(KernelsOf(body + "%y = mul(%h, %t) : f32[8,32]\n", kAutocast)
                .back()
                .bytes_out,
            8 * 32 * 4);
}

TEST(KernelCasts, LeaveABatchNormInTheTypeOfItsInput) {
  const Kernel norm = KernelsOf(R"(%x = input f32[2,8,4,4]
%c = conv2d(%x, parameter f32[8,8,1,1]) : f32[2,8,4,4]
%y = batch_norm(%c, parameter f32[8], parameter f32[8]) : f32[2,8,4,4]
)",
                                kAutocast)
                          .back();
  EXPECT_EQ(norm.kernel_class, KernelClass::kBatchNorm);
  EXPECT_EQ(norm.bytes_in, 256 * 2);
  EXPECT_EQ(norm.bytes_weight, 16 * 4);
  EXPECT_EQ(norm.bytes_out, 256 * 2);
  EXPECT_EQ(norm.inner_extent, 16);
}

TEST(KernelCasts, FollowAView) {
  EXPECT_EQ(KernelsOf(std::string(kHalf) +
                          "%v = view(%h) {size=[4,64]} : f32[4,64] alias %h\n"
                          "%y = relu(%v) : f32[4,64]\n",
                      kAutocast)
                .back()
                .bytes_out,
            4 * 64 * 2);
}

}  // namespace
}  // namespace foretell::cost
