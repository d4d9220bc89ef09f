#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/kernels/kernels_of.h"

// Per image: 4 x 6^3 inputs, 8 x 6^3 results, 4 x 3^3 rows of 6^3 columns.

namespace foretell::cost {
namespace {

using testing::Contains;
using testing::ElementsAre;

constexpr std::int64_t kPositions = 6 * 6 * 6;
constexpr std::int64_t kRows = 4 * 27;
constexpr std::int64_t kInput = 2 * 4 * kPositions;
constexpr std::int64_t kOutput = 2 * 8 * kPositions;
constexpr std::int64_t kWeight = 2 * 8 * kRows;
constexpr std::int64_t kColumns = 2 * kRows * kPositions;

std::string Convolution(const std::string& type, const std::string& operands,
                        const std::string& rest) {
  return "%x = input " + type + "[2,4,6,6,6]\n%y = conv3d(%x" + operands +
         ") {" + rest + "\n";
}

const std::string kPlain = Convolution("f16", ", weight f16[8,4,3,3,3]",
                                       "padding=[1,1,1]} : f16[2,8,6,6,6]");

void ExpectMove(const Kernel& kernel, std::int64_t count, std::int64_t in,
                std::int64_t out) {
  EXPECT_EQ(kernel.count, count);
  EXPECT_EQ(kernel.bytes_in, in);
  EXPECT_EQ(kernel.bytes_out, out);
  EXPECT_EQ(kernel.macs, 0);
}

void ExpectProduct(const Kernel& kernel, std::int64_t count, std::int64_t m,
                   std::int64_t n, std::int64_t k) {
  EXPECT_EQ(kernel.count, count);
  EXPECT_EQ(kernel.batch, 1);
  EXPECT_EQ(kernel.m, m);
  EXPECT_EQ(kernel.n, n);
  EXPECT_EQ(kernel.k, k);
  EXPECT_EQ(kernel.macs, m * n * k);
  EXPECT_EQ(kernel.groups, 0);
  EXPECT_EQ(kernel.arithmetic, Precision::kFp16);
}

TEST(KernelUnfolded, IsZerosThenColumnsAndAProductPerImage) {
  const std::vector<Kernel> kernels = KernelsOf(kPlain);
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("fill", "copy_hidden", "linear"));
  ExpectMove(kernels[0], 1, 0, 2 * kOutput);
  ExpectMove(kernels[1], 2, kInput, kColumns);
  ExpectProduct(kernels[2], 2, kPositions, 8, kRows);
  EXPECT_EQ(kernels[2].bytes_in, kColumns + kOutput);
  EXPECT_EQ(kernels[2].bytes_weight, kWeight);
  EXPECT_EQ(kernels[2].bytes_out, kOutput);
}

TEST(KernelUnfolded, FillsEveryChannelOfEveryImageWithItsBias) {
  const std::vector<Kernel> kernels =
      KernelsOf(Convolution("f16", ", weight f16[8,4,3,3,3], weight f16[8]",
                            "padding=[1,1,1]} : f16[2,8,6,6,6]"));
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("fill", "copy_hidden", "linear"));
  ExpectMove(kernels[0], 2 * 8, 0, 2 * kPositions);
  EXPECT_EQ(kernels[0].bytes_weight, 2);
}

TEST(KernelUnfolded, IsWhatPyTorch29Does) {
  const auto unfolds = [](int minor, std::optional<int> patch) {
    return ClassesOf(kPlain, {.torch = {2, minor, patch}}).size() > 1;
  };
  EXPECT_FALSE(unfolds(8, {}));
  EXPECT_FALSE(unfolds(8, 1));
  EXPECT_TRUE(unfolds(9, {}));
  EXPECT_TRUE(unfolds(9, 0));
  EXPECT_TRUE(unfolds(9, 1));
  EXPECT_FALSE(unfolds(10, {}));
  EXPECT_FALSE(unfolds(10, 0));
}

TEST(KernelUnfolded, TakesSixteenBitsAndMoreThanOneElement) {
  const auto classes = [](const std::string& type, const std::string& weight) {
    return ClassesOf(Convolution(type, ", weight " + type + weight,
                                 "} : " + type + "[2,8,6,6,6]"));
  };
  EXPECT_THAT(classes("bf16", "[8,4,1,1,3]"), Contains("copy_hidden"));
  EXPECT_THAT(classes("f32", "[8,4,1,1,3]"), ElementsAre("conv_stem"));
  EXPECT_THAT(classes("f16", "[8,4,1,1,1]"), ElementsAre("conv_stem"));
}

TEST(KernelUnfolded, LeavesImagesAndDepthwiseConvolutionsAlone) {
  EXPECT_THAT(ClassesOf(R"(%x = input f16[2,8,6,6]
%y = conv2d(%x, weight f16[8,8,3,3]) {padding=[1,1]} : f16[2,8,6,6]
)"),
              ElementsAre("conv_dense"));
  EXPECT_THAT(ClassesOf(Convolution("f16", ", weight f16[8,1,3,3,3]",
                                    "padding=[1,1,1], groups=4} : "
                                    "f16[2,8,6,6,6]")),
              ElementsAre("conv_depthwise_native"));
}

TEST(KernelUnfolded, HasAsManyColumnsAsThereAreResults) {
  const std::vector<Kernel> kernels = KernelsOf(
      Convolution("f16", ", weight f16[8,4,3,3,3]",
                  "padding=[1,1,1], stride=[2,2,2]} : f16[2,8,3,3,3]"));
  ASSERT_EQ(kernels.size(), 3U);
  ExpectMove(kernels[1], 2, kInput, 2 * kRows * 27);
  ExpectProduct(kernels[2], 2, 27, 8, kRows);
}

TEST(KernelUnfolded, TakesGroupsOneAfterTheOther) {
  const std::vector<Kernel> kernels =
      KernelsOf(Convolution("f16", ", weight f16[8,2,3,3,3]",
                            "padding=[1,1,1], groups=2} : f16[2,8,6,6,6]"));
  ASSERT_THAT(
      ClassesOf(kernels),
      ElementsAre("copy_hidden", "fill", "copy_hidden", "linear", "concat"));
  ExpectMove(kernels[0], 2, kInput, kInput);  // A half of both images.
  ExpectMove(kernels[1], 2, 0, kOutput);
  ExpectMove(kernels[2], 4, kInput / 2, kColumns / 2);
  ExpectProduct(kernels[3], 4, kPositions, 4, kRows / 2);
  EXPECT_EQ(kernels[3].bytes_weight, kWeight / 4);
  ExpectMove(kernels[4], 1, 2 * kOutput, 2 * kOutput);
}

TEST(KernelUnfolded, FoldsTheColumnsOfTheInputsGradient) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f16[2,4,6,6,6]
%dy = input f16[2,8,6,6,6]
%w = parameter f16[8,4,3,3,3]
phase backward
%dx, %dw, %db = convolution_backward(%dy, %x, %w) {padding=[1,1,1], output_mask=[1,1,1]} : f16[2,4,6,6,6], f16[8,4,3,3,3], f16[8]
)",
                                                {}, "mode=training");
  ASSERT_THAT(ClassesOf(kernels),
              ElementsAre("linear", "copy_hidden", "fill", "copy_hidden",
                          "linear", "fill", "reduce", "add"));
  ExpectProduct(kernels[0], 2, kPositions, kRows, 8);
  EXPECT_EQ(kernels[0].pass, ProductPass::kInputGradient);
  EXPECT_EQ(kernels[0].bytes_in, kOutput);
  EXPECT_EQ(kernels[0].bytes_out, kColumns);
  ExpectMove(kernels[1], 2, kColumns, kInput);
  ExpectMove(kernels[2], 1, 0, kWeight);
  ExpectMove(kernels[3], 2, kInput, kColumns);
  ExpectProduct(kernels[4], 2, kRows, 8, kPositions);
  EXPECT_EQ(kernels[4].pass, ProductPass::kWeightGradient);
  EXPECT_EQ(kernels[4].bytes_in, kColumns + kOutput + kWeight);
  EXPECT_EQ(kernels[4].bytes_out, kWeight);
  ExpectMove(kernels[5], 1, 0, 2 * 8);
  ExpectMove(kernels[6], 2, kOutput, 2 * 8);
  ExpectMove(kernels[7], 2, 2 * 2 * 8, 2 * 8);
}

TEST(KernelUnfolded, HasTheGradientsThatTheMaskAsksFor) {
  EXPECT_THAT(ClassesOf(R"(%x = input f16[2,4,6,6,6]
%dy = input f16[2,8,6,6,6]
%w = parameter f16[8,4,3,3,3]
phase backward
%dw = convolution_backward(%dy, %x, %w) {padding=[1,1,1], output_mask=[0,1,0]} : f16[8,4,3,3,3]
)"),
              ElementsAre("fill", "copy_hidden", "linear"));
}

TEST(KernelUnfolded, FoldsWhatATransposedConvolutionReturns) {
  constexpr std::int64_t kSmall = 2 * 4 * 27;
  constexpr std::int64_t kFolded = 2 * 8 * 8 * 27;
  const std::string inputs = R"(%x = input f16[2,4,3,3,3]
%w = parameter f16[4,8,2,2,2]
)";
  const std::vector<Kernel> forward = KernelsOf(
      inputs +
      "%y = conv_transpose3d(%x, %w, weight f16[8]) {stride=[2,2,2]} : "
      "f16[2,8,6,6,6]\n");
  ASSERT_THAT(ClassesOf(forward), ElementsAre("linear", "copy_hidden", "add"));
  ExpectProduct(forward[0], 2, 27, 8 * 8, 4);
  EXPECT_EQ(forward[0].bytes_in, kSmall);
  EXPECT_EQ(forward[0].bytes_out, kFolded);
  ExpectMove(forward[1], 2, kFolded, kOutput);
  ExpectMove(forward[2], 2, kOutput, kOutput);

  const std::vector<Kernel> backward =
      KernelsOf(inputs + R"(%dy = input f16[2,8,6,6,6]
phase backward
%dx, %dw, %db = convolution_backward(%dy, %x, %w) {transposed=true, stride=[2,2,2], output_mask=[1,1,1]} : f16[2,4,3,3,3], f16[4,8,2,2,2], f16[8]
)",
                {}, "mode=training");
  ASSERT_THAT(ClassesOf(backward),
              ElementsAre("copy_hidden", "linear", "fill", "copy_hidden",
                          "linear", "reduce"));
  ExpectMove(backward[0], 2, kOutput, kFolded);
  ExpectProduct(backward[1], 2, 27, 4, 8 * 8);
  ExpectProduct(backward[4], 2, 8 * 8, 4, 27);
  ExpectMove(backward[5], 1, 2 * kOutput, 2 * 8);
}

TEST(KernelUnfolded, MultipliesAsOftenAsTheNode) {
  const OperatorGraph graph = ParseGraph("graph \"g\"\n" + kPlain);
  std::int64_t macs = 0;
  for (const Kernel& kernel : ExpandKernels(graph, {})) {
    macs += kernel.count * kernel.macs;
  }
  EXPECT_EQ(macs, graph.node(0).macs);
}

}  // namespace
}  // namespace foretell::cost
