#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/error.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

using testing::ElementsAre;

constexpr TorchVersion kBefore2 = {.major = 1, .minor = 13};
constexpr TorchVersion kFrom2 = {.major = 2, .minor = 4};
constexpr TorchVersion kFrom25 = {.major = 2, .minor = 5};

/// Two images of three heads, five queries and seven keys of eight numbers.
constexpr char kFourDims[] = R"(%q = input f16[2,3,5,8]
%k = input f16[2,3,7,8]
%v = input f16[2,3,7,4]
%y = scaled_dot_product_attention(%q, %k, %v) : f16[2,3,5,4]
)";
constexpr char kThreeDims[] = R"(%q = input f16[6,5,8]
%k = input f16[6,7,8]
%v = input f16[6,7,4]
%y = scaled_dot_product_attention(%q, %k, %v) : f16[6,5,4]
)";

TEST(KernelAttention, IsOneKernelWhenFused) {
  const std::vector<Kernel> kernels = KernelsOf(kFourDims, {.torch = kFrom2});
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

/// Six heads of queries, of which three share keys and values.
std::vector<Kernel> GroupedHeads(const std::string& type,
                                 const std::string& mask = "") {
  const std::string query = type + "[2,6,5,8]";
  const std::string key = type + "[2,2,7,8]";
  return KernelsOf("%q = input " + query + "\n%k = input " + key +
                   "\n%v = input " + key + "\n%m = input " + type +
                   "[5,7]\n%y = scaled_dot_product_attention(%q, %k, %v" +
                   mask + ") {enable_gqa=true} : " + query + "\n");
}

TEST(KernelAttention, OfGroupedHeadsIsFusedInSixteenBitsAlone) {
  EXPECT_THAT(ClassesOf(GroupedHeads("f16")), ElementsAre("attention"));
  const std::vector<Kernel> kernels = GroupedHeads("f32");
  EXPECT_THAT(ClassesOf(kernels),
              ElementsAre("copy_hidden", "copy_hidden", "multiply", "multiply",
                          "matmul_fp32", "softmax", "elementwise", "reduce",
                          "elementwise", "matmul_fp32"));
  EXPECT_EQ(kernels[0].bytes_in, 4 * 2 * 2 * 7 * 8);
  EXPECT_EQ(kernels[0].bytes_out, 4 * 2 * 6 * 7 * 8);
  EXPECT_EQ(kernels[4].bytes_in, 4 * (2 * 6 * 5 * 8 + 2 * 6 * 7 * 8));
  EXPECT_NE(ClassesOf(GroupedHeads("f16", ", %m")).front(), "attention");
}

TEST(KernelAttention, SplitsFloat32IntoTf32) {
  EXPECT_EQ(KernelsOf(R"(%q = input f32[2,3,5,8]
%y = scaled_dot_product_attention(%q, %q, %q) : f32[2,3,5,8]
)")[0]
                .arithmetic,
            Precision::kTf32);
}

TEST(KernelAttention, IsWrittenOutBeforeFusion) {
  const std::vector<Kernel> kernels = KernelsOf(kFourDims, {.torch = kBefore2});
  ASSERT_THAT(ClassesOf(kernels),
              ElementsAre("matmul", "multiply", "softmax", "matmul"));
  EXPECT_EQ(kernels[0].bytes_in, (240 + 336) * 2);
  EXPECT_EQ(kernels[0].bytes_out, 210 * 2);
  EXPECT_EQ(kernels[0].macs, 210 * 8);
  EXPECT_EQ(kernels[0].n, 7);
  EXPECT_EQ(kernels[0].k, 8);
  EXPECT_EQ(kernels[1].bytes_in, 210 * 2);
  EXPECT_EQ(kernels[1].inner_extent, 7);
  EXPECT_EQ(kernels[2].inner_extent, 7);
  EXPECT_EQ(kernels[3].bytes_in, (210 + 168) * 2);
  EXPECT_EQ(kernels[3].macs, 210 * 4);
  EXPECT_EQ(kernels[3].n, 4);
  EXPECT_EQ(kernels[3].k, 7);
}

// Scores are f32 between half products.
TEST(KernelAttention, BeforeFusionCastsTheScoresOfAutocast) {
  const std::vector<Kernel> kernels =
      KernelsOf(kFourDims, {.torch = kBefore2}, "autocast=f16");
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("matmul", "multiply", "softmax",
                                              "cast_down", "matmul"));
  EXPECT_EQ(kernels[2].bytes_in, 210 * 2);
  EXPECT_EQ(kernels[2].bytes_out, 210 * 4);
  EXPECT_EQ(kernels[3].bytes_in, 210 * 4);
  EXPECT_EQ(kernels[3].bytes_out, 210 * 2);
}

/// Heads are cut out of rows, so that no two dimensions fold into one.
TEST(KernelAttention, CopiesHeadsBetweenTokensForItsProducts) {
  const std::string heads =
      "%x = input f16[2,5,3,8]\n"
      "%q = transpose(%x) {dim0=1, dim1=2} : f16[2,3,5,8] alias %x\n";
  const std::string whole =
      heads + "%y = scaled_dot_product_attention(%q, %q, %q) : f16[2,3,5,8]\n";
  EXPECT_THAT(ClassesOf(whole, {.torch = kBefore2}),
              ElementsAre("copy_hidden", "copy_hidden", "copy_hidden", "matmul",
                          "multiply", "softmax", "matmul"));
  EXPECT_THAT(ClassesOf(whole, {.torch = kFrom2}), ElementsAre("attention"));
  const std::string shared =
      heads +
      "%k = input f16[2,1,5,8]\n"
      "%m = input f16[5,5]\n"
      "%y = scaled_dot_product_attention(%q, %k, %k, %m) {enable_gqa=true} : "
      "f16[2,3,5,8]\n";
  // The queries, and two heads that are repeated.
  EXPECT_THAT(ClassesOf(shared, {.torch = kFrom2}),
              testing::Contains("copy_hidden").Times(3));
}

TEST(KernelAttention, IsNotFusedInOtherRanks) {
  EXPECT_THAT(
      ClassesOf(kThreeDims, {.torch = kFrom2}),
      ElementsAre("multiply", "multiply", "matmul", "softmax", "matmul"));
}

TEST(KernelAttention, FallsBackToFloatFrom25On) {
  const std::vector<Kernel> kernels = KernelsOf(kThreeDims, {.torch = kFrom25});
  ASSERT_THAT(
      ClassesOf(kernels),
      ElementsAre("cast_up", "cast_up", "cast_up", "multiply", "multiply",
                  "matmul_fp32", "softmax", "elementwise", "reduce",
                  "elementwise", "cast_down", "matmul_fp32", "cast_down"));
  EXPECT_EQ(kernels[0].bytes_in, 240 * 2);
  EXPECT_EQ(kernels[0].bytes_out, 240 * 4);
  EXPECT_EQ(kernels[5].bytes_in, (240 + 336) * 4);
  EXPECT_EQ(kernels[5].arithmetic, Precision::kFp32);
  EXPECT_EQ(kernels[11].bytes_in, (210 + 168) * 4);
  EXPECT_EQ(kernels[12].bytes_out, 120 * 2);
}

// 210 scores in 30 rows: a Boolean for each, one for each row, the weights with
// zeros where a row has no key, and the weights in the operands' type.
TEST(KernelAttention, LooksForRowsWithoutKeysFrom25On) {
  const std::vector<Kernel> kernels = KernelsOf(kThreeDims, {.torch = kFrom25});
  EXPECT_EQ(kernels[7].bytes_in, 210 * 4);
  EXPECT_EQ(kernels[7].bytes_out, 210);
  EXPECT_EQ(kernels[8].bytes_in, 210);
  EXPECT_EQ(kernels[8].bytes_out, 30);
  EXPECT_EQ(kernels[9].bytes_in, 210 * 4 + 30);
  EXPECT_EQ(kernels[9].bytes_out, 210 * 4);
  EXPECT_EQ(kernels[10].bytes_in, 210 * 4);
  EXPECT_EQ(kernels[10].bytes_out, 210 * 2);
}

TEST(KernelAttention, InFloatNeedsNoCastsToFallBack) {
  EXPECT_THAT(
      ClassesOf(R"(%q = input f32[6,5,8]
%y = scaled_dot_product_attention(%q, %q, %q) : f32[6,5,8]
)"),
      ElementsAre("multiply", "multiply", "matmul_fp32", "softmax",
                  "elementwise", "reduce", "elementwise", "matmul_fp32"));
}

TEST(KernelAttention, AddsAMaskToTheScores) {
  const std::vector<Kernel> kernels = KernelsOf(
      R"(%q = input f16[6,5,8]
%m = input f16[5,5]
%y = scaled_dot_product_attention(%q, %q, %q, %m) : f16[6,5,8]
)",
      {.torch = kFrom2});
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("multiply", "multiply", "matmul",
                                              "add", "softmax", "matmul"));
  EXPECT_EQ(kernels[3].bytes_in, (150 + 25) * 2);
  EXPECT_EQ(kernels[3].bytes_out, 150 * 2);
}

TEST(KernelAttention, RefusesScoresBeyondAnyMemory) {
  EXPECT_THROW(KernelsOf(R"(%q = input f16[1000000,1000000,0]
%k = input f16[1000000,1000000,0]
%y = scaled_dot_product_attention(%q, %k, %k) : f16[1000000,1000000,0]
)"),
               Error);
}

// What follows an unfused attention finds a contiguous result.
TEST(KernelAttention, LeavesAContiguousResultUnlessFused) {
  const std::string merge =
      "%b = transpose(%y) {dim0=1, dim1=2} : f16[2,5,3,4] alias %y\n"
      "%c = reshape(%b) {shape=[2, 5, 12]} : f16[2,5,12]\n";
  EXPECT_THAT(ClassesOf(kFourDims + merge, {.torch = kFrom2}),
              ElementsAre("attention"));
  EXPECT_EQ(ClassesOf(kFourDims + merge, {.torch = kBefore2}).back(), "copy");
}

}  // namespace
}  // namespace foretell::cost
