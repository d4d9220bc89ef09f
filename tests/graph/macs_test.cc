#include <gtest/gtest.h>

#include "tests/graph/expect_error.h"
#include "tests/graph/macs_of.h"

namespace foretell {
namespace {

TEST(Macs, OfAConvolution) {
  // 2*16*8*8 outputs, each of 3*3*3 products
  EXPECT_EQ(MacsOf("%y = conv2d(input f32[2,3,8,8], weight f32[16,3,3,3], "
                   "weight f32[16]) : f32[2,16,8,8]"),
            2048 * 27);
}

TEST(Macs, OfConvolutionsInOneAndThreeDimensions) {
  EXPECT_EQ(MacsOf("%y = conv1d(input f32[1,2,10], weight f32[4,2,3]) : "
                   "f32[1,4,8]"),
            32 * 6);
  EXPECT_EQ(MacsOf("%y = conv3d(input f32[1,3,2,3,3], weight f32[2,3,1,2,2]) "
                   ": f32[1,2,2,2,2]"),
            16 * 12);
}

TEST(Macs, OfADepthwiseConvolution) {
  EXPECT_EQ(MacsOf("%y = conv2d(input f32[1,8,4,4], weight f32[8,1,3,3]) "
                   "{groups=8} : f32[1,8,4,4]"),
            128 * 9);
}

TEST(Macs, OfATransposedConvolution) {
  // each of 100 inputs meets 96 / 4 weights
  EXPECT_EQ(MacsOf("%y = conv_transpose2d(input f32[1,4,5,5], weight "
                   "f32[4,6,2,2]) {stride=[2,2]} : f32[1,6,10,10]"),
            100 * 24);
  EXPECT_EQ(MacsOf("%y = convolution(input f32[1,4,5,5], weight "
                   "f32[4,6,2,2]) {transposed=true} : f32[1,6,10,10]"),
            100 * 24);
}

TEST(Macs, OfATimeBatchChannelConvolution) {
  // out [8, 2, 5], weight [kernel 3, in 4, out 5]
  EXPECT_EQ(MacsOf("%y = conv_tbc(input f32[10,2,4], weight f32[3,4,5]) : "
                   "f32[8,2,5]"),
            80 * 12);
}

TEST(Macs, OfADeformableConvolution) {
  EXPECT_EQ(MacsOf("%y = torchvision::deform_conv2d(input f32[1,2,4,4], weight "
                   "f32[3,2,3,3], input f32[1,18,2,2]) : f32[1,3,2,2]"),
            12 * 18);
}

constexpr char kBackward[] =
    "%x, %w, %b = convolution_backward(input f32[2,16,8,8], input "
    "f32[2,3,8,8], weight f32[16,3,3,3]) {output_mask=";
constexpr char kBackwardResults[] = "} : f32[2,3,8,8], f32[16,3,3,3], f32[16]";

TEST(Macs, OfAConvolutionsBackwardCountTheGradientsAskedFor) {
  const auto with_mask = [](const std::string& mask) {
    return MacsOf(kBackward + mask + kBackwardResults);
  };
  EXPECT_EQ(with_mask("[true, true, true]"), 2 * 2048 * 27);
  EXPECT_EQ(with_mask("[false, true, true]"), 2048 * 27);
  EXPECT_EQ(with_mask("[1, 0, 0]"), 2048 * 27);
  EXPECT_EQ(with_mask("[0, 0, 1]"), 0);
}

TEST(Macs, OfATransposedConvolutionsBackward) {
  EXPECT_EQ(MacsOf("%x, %w = convolution_backward(input f32[1,6,10,10], input "
                   "f32[1,4,5,5], weight f32[4,6,2,2]) {transposed=true} : "
                   "f32[1,4,5,5], f32[4,6,2,2]"),
            2 * 100 * 24);
}

TEST(Macs, OfALinearLayer) {
  EXPECT_EQ(MacsOf("%y = linear(input f32[4,10,32], weight f32[64,32], weight "
                   "f32[64]) : f32[4,10,64]"),
            1280 * 64);
  EXPECT_EQ(MacsOf("%y = linear(input f32[4,32], weight f32[32]) : f32[4]"),
            128);
}

TEST(Macs, OfABilinearLayer) {
  EXPECT_EQ(MacsOf("%y = bilinear(input f32[7,3], input f32[7,4], weight "
                   "f32[5,3,4]) : f32[7,5]"),
            7 * 60);
}

TEST(Macs, OfASumOverThree) {
  EXPECT_EQ(MacsOf("%y = _trilinear(input f32[7,3], weight f32[5,3,4], input "
                   "f32[7,4]) {expand1=[1,3], expand2=[0], expand3=[1,2], "
                   "sumdim=[2,3], unroll_dim=1} : f32[7,5]"),
            7 * 60);
  // The gradient of the weight.
  EXPECT_EQ(MacsOf("%y = _trilinear(input f32[7,3], input f32[7,5], input "
                   "f32[7,4]) {expand1=[1,3], expand2=[2,3], expand3=[1,2], "
                   "sumdim=[0], unroll_dim=1} : f32[5,3,4]"),
            7 * 60);
  // Of inputs of three dimensions: the gradient reads the flattened ones, which
  // are recorded as they were.
  EXPECT_EQ(MacsOf("%y = _trilinear(input f32[7,2,3], input f32[14,5], input "
                   "f32[7,2,4]) {expand1=[1,3], expand2=[2,3], expand3=[1,2], "
                   "sumdim=[0], unroll_dim=1} : f32[5,3,4]"),
            14 * 60);
  ExpectError(
      [] {
        MacsOf(
            "%y = _trilinear(input f32[7,3], input f32[7,5], input "
            "f32[7,4]) {expand1=[1]} : f32[5,3,4]");
      },
      ErrorCode::kCorrupt, "do not fit its operands");
}

TEST(Macs, OfMatrixProducts) {
  EXPECT_EQ(MacsOf("%y = mm(input f32[3,4], input f32[4,5]) : f32[3,5]"), 60);
  EXPECT_EQ(MacsOf("%y = bmm(input f32[2,3,4], input f32[2,4,5]) : "
                   "f32[2,3,5]"),
            120);
  EXPECT_EQ(MacsOf("%y = matmul(input f32[2,3,4], input f32[4,5]) : "
                   "f32[2,3,5]"),
            120);
  EXPECT_EQ(MacsOf("%y = matmul(input f32[4], input f32[2,4,5]) : f32[2,5]"),
            40);
  EXPECT_EQ(MacsOf("%y = matmul(input f32[2,1,3,4], input f32[6,4,5]) : "
                   "f32[2,6,3,5]"),
            180 * 4);
}

TEST(Macs, OfProductsWithVectors) {
  EXPECT_EQ(MacsOf("%y = mv(input f32[3,4], input f32[4]) : f32[3]"), 12);
  EXPECT_EQ(MacsOf("%y = dot(input f32[4], input f32[4]) : f32[]"), 4);
  EXPECT_EQ(MacsOf("%y = outer(input f32[3], input f32[4]) : f32[3,4]"), 12);
  EXPECT_EQ(MacsOf("%y = linalg_vecdot(input f32[3,4], input f32[3,4]) : "
                   "f32[3]"),
            12);
}

TEST(Macs, OfProductsThatAddStartAtTheSecondInput) {
  EXPECT_EQ(MacsOf("%y = addmm(input f32[5], input f32[3,4], input f32[4,5]) : "
                   "f32[3,5]"),
            60);
  EXPECT_EQ(MacsOf("%y = baddbmm(input f32[1,3,5], input f32[2,3,4], input "
                   "f32[2,4,5]) : f32[2,3,5]"),
            120);
  EXPECT_EQ(MacsOf("%y = addbmm(input f32[3,5], input f32[2,3,4], input "
                   "f32[2,4,5]) : f32[3,5]"),
            120);
  EXPECT_EQ(MacsOf("%y = addmv(input f32[7], input f32[7,4], input f32[4]) : "
                   "f32[7]"),
            28);
  EXPECT_EQ(MacsOf("%y = addr(input f32[3,4], input f32[3], input f32[4]) : "
                   "f32[3,4]"),
            12);
}

TEST(Macs, OfAnInPlaceProduct) {
  EXPECT_EQ(MacsOf("%s = input f32[3,5]\n"
                   "%y = addmm_(%s, input f32[3,4], input f32[4,5]) : f32[3,5] "
                   "alias %s"),
            60);
  EXPECT_EQ(MacsOf("%s = input f32[3,5]\n"
                   "%y = addbmm_(%s, input f32[2,3,4], input f32[2,4,5]) : "
                   "f32[3,5] alias %s"),
            120);
}

TEST(Macs, OfGroupsOfRows) {
  // 10 rows of 64 meet one of four matrices each.
  EXPECT_EQ(MacsOf("%y = _grouped_mm(input bf16[10,64], input bf16[4,64,32], "
                   "input i32[4]) : bf16[10,32]"),
            20480);
  // The gradient of those matrices sums over the rows.
  EXPECT_EQ(MacsOf("%y = _grouped_mm(input bf16[64,10], input bf16[10,32], "
                   "input i32[4]) : bf16[4,64,32]"),
            20480);
  EXPECT_EQ(MacsOf("%y = _grouped_mm(input bf16[4,10,64], input "
                   "bf16[4,64,32]) : bf16[4,10,32]"),
            81920);
}

TEST(Macs, OfAChainFromLeftToRight) {
  EXPECT_EQ(MacsOf("%y = linalg_multi_dot(input f32[2,3], input f32[3,4], "
                   "input f32[4,5]) : f32[2,5]"),
            24 + 40);
}

TEST(Macs, OfATensordot) {
  EXPECT_EQ(MacsOf("%y = tensordot(input f32[2,3,4], input f32[4,3,5]) "
                   "{dims_self=[2,1], dims_other=[0,1]} : f32[2,5]"),
            10 * 12);
  EXPECT_EQ(MacsOf("%y = tensordot(input f32[2,3,4], input f32[4,5]) "
                   "{dims_self=[-1], dims_other=[0]} : f32[2,3,5]"),
            30 * 4);
}

TEST(Macs, OfAMatrixPowerCountSquaresAndProducts) {
  // x^5 = (x^2)^2 x
  EXPECT_EQ(MacsOf("%y = matrix_power(input f32[4,4]) {n=5} : f32[4,4]"),
            3 * 64);
  EXPECT_EQ(MacsOf("%y = matrix_power(input f32[4,4]) {n=-2} : f32[4,4]"), 64);
  EXPECT_EQ(MacsOf("%y = matrix_power(input f32[4,4]) "
                   "{n=-9223372036854775808} : f32[4,4]"),
            63 * 64);
}

TEST(Macs, AreZeroForEverythingElse) {
  EXPECT_EQ(MacsOf("%y = relu(input f32[4]) : f32[4]"), 0);
  EXPECT_EQ(MacsOf("%y = mylib::conv2d(input f32[4]) : f32[4]"), 0);
  EXPECT_EQ(MacsOf("%y = embedding(weight f32[9,4], input i64[3]) : f32[3,4]"),
            0);
}

TEST(Macs, AreZeroForEmptyTensors) {
  EXPECT_EQ(MacsOf("%y = conv2d(input f32[0,3,8,8], weight f32[16,3,3,3]) : "
                   "f32[0,16,8,8]"),
            0);
  EXPECT_EQ(MacsOf("%y = conv2d(input f32[1,3,8,8], weight f32[0,3,3,3]) : "
                   "f32[1,0,8,8]"),
            0);
}

TEST(Macs, RefuseACountBeyondInt64) {
  ExpectError(
      [] {
        MacsOf(
            "%y = mm(input f32[1073741824,1048576] bytes=4, input "
            "f32[1048576,16777216] bytes=4) : f32[1073741824,16777216] "
            "bytes=4");
      },
      ErrorCode::kCorrupt,
      "node 0 (mm): multiply-accumulates exceed int64: 18014398509481984 * "
      "1048576");
}

TEST(Macs, RefuseAMissingWeight) {
  ExpectError([] { MacsOf("%y = conv2d(input f32[1,3,8,8]) : f32[1]"); },
              ErrorCode::kCorrupt,
              "node 0 (conv2d): conv2d has 1 tensor inputs, expected at least "
              "2");
  ExpectError([] { MacsOf("mm(input f32[2,2], input f32[2,2])"); },
              ErrorCode::kCorrupt, "mm has 0 results, expected at least 1");
}

}  // namespace
}  // namespace foretell
