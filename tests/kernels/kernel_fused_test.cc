#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/kernels_of.h"

// Nodes of runtimes that fuse operators (src/runtime/README.md).

namespace foretell::cost {
namespace {

using testing::SizeIs;

constexpr const char* kCompiled = "runtime=\"compile\"";

TEST(FusedKernels, AnElementwiseKernelMovesItsOperandsAndResultsAlone) {
  const auto kernels = KernelsOf(
      "%x = input f16[4,8]\n"
      "%b = parameter f32[8]\n"
      "%z = fused_elementwise(%x, %b) : f16[4,8]\n"
      "| %y = add(%x, %b) : f16[4,8]\n"
      "| %z = relu(%y)\n",
      {}, kCompiled);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].kernel_class, KernelClass::kElementwise);
  EXPECT_EQ(kernels[0].bytes_in, 4 * 8 * 2);
  EXPECT_EQ(kernels[0].bytes_weight, 8 * 4);
  EXPECT_EQ(kernels[0].bytes_out, 4 * 8 * 2);
}

/// Elements that the threads of a kernel with a GELU inside go over.
std::int64_t ElementsOfGelu(const std::string& approximate) {
  const auto kernels = KernelsOf(
      "%x = input bf16[8,4]\n"
      "%z = fused_elementwise(%x) : bf16[8,4]\n"
      "| %y = relu(%x) : bf16[8,4]\n"
      "| %z = gelu(%y) {approximate=\"" +
          approximate + "\"}\n",
      {}, kCompiled);
  return kernels.at(0).rows * kernels.at(0).row_elements;
}

TEST(FusedKernels, AnErrorFunctionTakesAsLongAsElementsOfAWindow) {
  EXPECT_EQ(ElementsOfGelu("none"), 8 * 4 * 2);
  EXPECT_EQ(ElementsOfGelu("tanh"), 0);
}

TEST(FusedKernels, AReductionGoesAlongItsLongestRows) {
  const auto kernels = KernelsOf(
      "%x = input f32[4,8]\n"
      "%z = fused_reduce(%x) : f32[4,8]\n"
      "| %m = mean(%x) {dim=[-1], keepdim=true} : f32[4,1]\n"
      "| %z = sub(%x, %m)\n",
      {}, kCompiled);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].kernel_class, KernelClass::kReduce);
  EXPECT_EQ(kernels[0].rows, 4);
  EXPECT_EQ(kernels[0].row_elements, 8);
  EXPECT_EQ(kernels[0].Bytes(), 2 * 4 * 8 * 4);
}

TEST(FusedKernels, OfATableOnlyTheRowsLookedUpAreRead) {
  const auto kernels = KernelsOf(
      "%i = input i64[2]\n"
      "%t = parameter f32[100,8]\n"
      "%z = fused_elementwise(%t, %i) : f32[2,8]\n"
      "| %y = embedding(%t, %i) : f32[2,8]\n"
      "| %z = relu(%y)\n",
      {}, kCompiled);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].bytes_weight, 2 * 8 * 4);
}

TEST(FusedKernels, OfASumOnlyTheRowsAddedToAreWritten) {
  const auto kernels = KernelsOf(
      "%g = input f32[2,8]\n"
      "%i = input i64[2]\n"
      "%t = input f32[100,8]\n"
      "%z = fused_elementwise(%t, %i, %g) : f32[100,8]\n"
      "| %z = scatter_add_(%t, %i, %g)\n",
      {}, kCompiled);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].bytes_in, 2 * 8 * 4 + 2 * 8 + 2 * 8 * 4);
  EXPECT_EQ(kernels[0].bytes_out, 2 * 8 * 4);
}

/// A convolution that adds its bias and another tensor to its result.
constexpr const char* kEpilogue =
    "%x = input f16[1,8,8,8]\n"
    "%a = input f16[1,8,8,8]\n"
    "%z = conv2d(%x, parameter f16[8,8,1,1], parameter f16[8], %a) : "
    "f16[1,8,8,8]\n"
    "| %y = add(%a) : f16[1,8,8,8]\n"
    "| %z = relu(%y)\n";

TEST(FusedKernels, AnEpilogueIsPartOfTheProduct) {
  const auto kernels = KernelsOf(kEpilogue, {}, kCompiled);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].kernel_class, KernelClass::kPointwiseConvolution);
  EXPECT_EQ(kernels[0].macs, 8 * 8 * 64);
  EXPECT_EQ(kernels[0].bytes_in, 2 * 8 * 64 * 2);
  EXPECT_EQ(kernels[0].bytes_weight, 8 * 8 * 2 + 8 * 2);
}

}  // namespace
}  // namespace foretell::cost
