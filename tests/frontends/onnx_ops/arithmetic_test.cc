#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "foretell/error.h"
#include "tests/frontends/onnx_ops/node_runner.h"

namespace foretell::onnx {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

at::Tensor I64(at::ArrayRef<std::int64_t> values) {
  return at::tensor(values, at::kLong);
}

TEST(OnnxMod, OfUnsigned64BitNumbersIsExact) {
  // 18446744073709551615 mod 10.
  const auto y = RunNode({.op_type = "Mod"}, {I64({-1}).to(at::kUInt64),
                                              I64({10}).to(at::kUInt64)});
  EXPECT_EQ(y[0].to(at::kLong).item<std::int64_t>(), 5);
}

TEST(OnnxPow, HasTheTypeOfTheBase) {
  const auto y = RunNode({.op_type = "Pow"},
                         {at::tensor({4, 9}, at::kInt), at::tensor({0.5f})});
  EXPECT_TRUE(at::equal(y[0], at::tensor({2, 3}, at::kInt)));
}

TEST(OnnxBitShift, BringsZerosIntoUnsigned64BitNumbers) {
  const auto y = RunNode(
      {.op_type = "BitShift",
       .attributes = {StringAttribute("direction", "RIGHT")}},
      {I64({-1, -1, -1}).to(at::kUInt64), I64({0, 63, 64}).to(at::kUInt64)});
  EXPECT_TRUE(at::equal(y[0].to(at::kLong), I64({-1, 1, 0})));
}

TEST(OnnxBitShift, RefusesAnUnknownDirectionByName) {
  try {
    RunNode({.op_type = "BitShift",
             .attributes = {StringAttribute("direction", "UP")}},
            {I64({1}), I64({1})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("'direction' = 'UP'"));
  }
}

TEST(OnnxAnd, TakesANumberOfTheFile) {
  const NodeCase node{.op_type = "And",
                      .constants = {{1, at::scalar_tensor(1, at::kLong)}}};
  EXPECT_EQ(TraceNode(node, {{2, 3}}),
            (std::vector<std::string>{"logical_and"}));
}

TEST(OnnxClip, IsTheUpperBoundWhenBoundsCross) {
  const auto y =
      RunNode({.op_type = "Clip"},
              {at::tensor({-5.0f, 5.0f}), at::tensor(3.0f), at::tensor(1.0f)});
  EXPECT_TRUE(at::equal(y[0], at::tensor({1.0f, 1.0f})));
}

TEST(OnnxClip, IgnoresBoundsThatHalfPrecisionCannotHold) {
  const float largest = std::numeric_limits<float>::max();
  const auto y =
      RunNode({.op_type = "Clip"}, {at::tensor({-5.0f, 5.0f}).to(at::kHalf),
                                    at::tensor(0.0f), at::tensor(largest)});
  EXPECT_TRUE(at::equal(y[0].to(at::kFloat), at::tensor({0.0f, 5.0f})));
}

TEST(OnnxClip, TakesBoundsFromAttributesBeforeVersion11) {
  const auto y = RunNode(
      {.op_type = "Clip", .opset = 6, .attributes = {FloatAttribute("max", 2)}},
      {at::tensor({-9.0f, 9.0f})});
  EXPECT_TRUE(at::equal(y[0], at::tensor({-9.0f, 2.0f})));
}

TEST(OnnxSoftmax, CountsTrailingDimensionsAsOneBeforeVersion13) {
  const auto y = RunNode({.op_type = "Softmax",
                          .opset = 11,
                          .attributes = {IntAttribute("axis", 1)}},
                         {at::zeros({1, 2, 2})});
  EXPECT_TRUE(at::allclose(y[0], at::full({1, 2, 2}, 0.25)));
  const auto late = RunNode({.op_type = "Softmax",
                             .opset = 13,
                             .attributes = {IntAttribute("axis", 1)}},
                            {at::zeros({1, 2, 2})});
  EXPECT_TRUE(at::allclose(late[0], at::full({1, 2, 2}, 0.5)));
}

TEST(OnnxHardSigmoid, UsesItsAttributes) {
  const auto y = RunNode({.op_type = "HardSigmoid",
                          .attributes = {FloatAttribute("alpha", 0.5f),
                                         FloatAttribute("beta", 0.25f)}},
                         {at::tensor({-1.0f, 1.0f, 9.0f})});
  EXPECT_TRUE(at::allclose(y[0], at::tensor({0.0f, 0.75f, 1.0f})));
}

TEST(OnnxPRelu, BroadcastsASlopePerChannel) {
  const auto y = RunNode(
      {.op_type = "PRelu"},
      {at::full({1, 2, 1, 2}, -2.0), at::tensor({3.0f, 0.5f}).view({2, 1, 1})});
  EXPECT_TRUE(at::equal(
      y[0], at::tensor({-6.0f, -6.0f, -1.0f, -1.0f}).view({1, 2, 1, 2})));
}

TEST(OnnxPRelu, BroadcastsASlopePerColumn) {
  const auto y = RunNode({.op_type = "PRelu"},
                         {at::full({1, 2, 2}, -1.0), at::tensor({3.0f, 0.5f})});
  EXPECT_TRUE(at::equal(
      y[0], at::tensor({-3.0f, -0.5f, -3.0f, -0.5f}).view({1, 2, 2})));
}

TEST(OnnxGemm, RefusesAFractionOfIntegerMatrices) {
  try {
    RunNode({.op_type = "Gemm", .attributes = {FloatAttribute("alpha", 0.5f)}},
            {I64({1}).view({1, 1}), I64({1}).view({1, 1})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("alpha"));
  }
}

TEST(OnnxGemm, RefusesASumThatDoesNotExpandToTheProduct) {
  for (const std::int64_t transposes : {0, 1}) {
    const NodeCase node{.op_type = "Gemm",
                        .attributes = {IntAttribute("transB", transposes)},
                        .constants = {{1, transposes == 0 ? at::ones({3, 1})
                                                          : at::ones({1, 3})},
                                      {2, at::ones({1, 4})}}};
    try {
      TraceNode(node, {{3, 3}});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("test.onnx: node 'node' (Gemm)"),
                        HasSubstr("[1,4]"), HasSubstr("[3,1]")));
    }
  }
}

TEST(OnnxGemm, ScalesProductAndBias) {
  // 2 · [1 2] · [3 4]ᵀ + 0.5 · 10 = 27.
  const auto y = RunNode(
      {.op_type = "Gemm",
       .attributes = {FloatAttribute("alpha", 2), FloatAttribute("beta", 0.5f),
                      IntAttribute("transB", 1)}},
      {at::tensor({1.0f, 2.0f}).view({1, 2}),
       at::tensor({3.0f, 4.0f}).view({1, 2}), at::tensor({10.0f})});
  EXPECT_TRUE(at::equal(y[0], at::full({1, 1}, 27.0)));
}

TEST(OnnxReduceMax, OfNothingIsMinusInfinity) {
  const auto y = RunNode({.op_type = "ReduceMax",
                          .opset = 13,
                          .attributes = {IntsAttribute("axes", {1})}},
                         {at::empty({2, 0})});
  EXPECT_EQ(y[0].sizes(), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(y[0][0].item<float>(), -std::numeric_limits<float>::infinity());
}

TEST(OnnxReduceSumSquare, StillSquaresWhenNoAxisIsMeant) {
  const auto y =
      RunNode({.op_type = "ReduceSumSquare",
               .attributes = {IntAttribute("noop_with_empty_axes", 1)}},
              {at::tensor({2.0f, -3.0f})});
  EXPECT_TRUE(at::equal(y[0], at::tensor({4.0f, 9.0f})));
}

TEST(OnnxReduceMean, OfIntegersRoundsTowardZero) {
  const auto y = RunNode(
      {.op_type = "ReduceMean", .attributes = {IntAttribute("keepdims", 0)}},
      {I64({-1, -2})});
  EXPECT_EQ(y[0].item<std::int64_t>(), -1);
}

TEST(OnnxReduceSum, RefusesAnAxisGivenTwice) {
  try {
    RunNode({.op_type = "ReduceSum",
             .opset = 11,
             .attributes = {IntsAttribute("axes", {1, -1})}},
            {at::ones({2, 2})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(), HasSubstr("axis 1 is given twice"));
  }
}

TEST(OnnxTopK, PrefersTheLowerIndexAmongEquals) {
  const auto y =
      RunNode({.op_type = "TopK", .num_outputs = 2}, {at::ones({5}), I64({3})});
  EXPECT_TRUE(at::equal(y[1], I64({0, 1, 2})));
}

TEST(OnnxTopK, RefusesMoreThanThereAre) {
  try {
    RunNode({.op_type = "TopK", .num_outputs = 2}, {at::ones({2}), I64({3})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("k is 3, but axis 0 has 2 elements"));
  }
}

TEST(OnnxLrn, HasTheLongerHalfOfAnEvenWindowBehind) {
  // Channels 1 and 2; divisors (1 + 4) and 4 for alpha 2, size 2, bias 0.
  const auto y = RunNode(
      {.op_type = "LRN",
       .attributes = {IntAttribute("size", 2), FloatAttribute("alpha", 2),
                      FloatAttribute("beta", 1), FloatAttribute("bias", 0)}},
      {at::tensor({1.0f, 2.0f}).view({1, 2, 1, 1})});
  EXPECT_TRUE(at::allclose(y[0], at::tensor({0.2f, 0.5f}).view({1, 2, 1, 1})));
}

TEST(OnnxBatchNormalization, UsesRunningStatisticsForASingleOutput) {
  const auto y =
      RunNode({.op_type = "BatchNormalization", .opset = 9},
              {at::tensor({5.0f}).view({1, 1}), at::tensor({2.0f}),
               at::tensor({1.0f}), at::tensor({3.0f}), at::tensor({4.0f})});
  EXPECT_TRUE(at::allclose(y[0], at::full({1, 1}, 3.0), 1e-4));
}

TEST(OnnxBatchNormalization, NormalizesEveryFeatureWhenNotSpatial) {
  const at::Tensor x = at::tensor({1.0f, 4.0f}).view({1, 1, 2});
  const at::Tensor ones = at::ones({1, 2});
  const auto y = RunNode({.op_type = "BatchNormalization",
                          .opset = 7,
                          .attributes = {IntAttribute("spatial", 0),
                                         FloatAttribute("epsilon", 0)}},
                         {x, ones, at::zeros({1, 2}),
                          at::tensor({0.0f, 2.0f}).view({1, 2}), ones});
  EXPECT_TRUE(at::allclose(y[0], at::tensor({1.0f, 2.0f}).view({1, 1, 2})));
}

}  // namespace
}  // namespace foretell::onnx
