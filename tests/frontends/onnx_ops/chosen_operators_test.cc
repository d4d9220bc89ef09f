// What is predicted is eager PyTorch, so that a node has to become the ATen
// operators that eager code calls.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontends/onnx_ops/node_runner.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;

TEST(ChosenOperators, AGemmWithTransposedWeightIsALinearLayer) {
  EXPECT_THAT(
      TraceNode({.op_type = "Gemm",
                 .attributes = {IntAttribute("transB", 1)},
                 .constants = {{1, at::ones({5, 3})}, {2, at::ones({5})}}},
                {{2, 3}}),
      ElementsAre("linear"));
}

TEST(ChosenOperators, AnyOtherGemmWithBiasIsAddmm) {
  EXPECT_THAT(
      TraceNode({.op_type = "Gemm",
                 .constants = {{1, at::ones({3, 5})}, {2, at::ones({5})}}},
                {{2, 3}}),
      ElementsAre("addmm"));
}

TEST(ChosenOperators, ClipBetweenZeroAndSixIsHardtanh) {
  EXPECT_THAT(
      TraceNode({.op_type = "Clip",
                 .constants = {{1, at::zeros({})}, {2, at::tensor(6.0f)}}},
                {{2, 3}}),
      ElementsAre("hardtanh"));
}

TEST(ChosenOperators, AnyOtherClipIsClamp) {
  EXPECT_THAT(
      TraceNode({.op_type = "Clip", .constants = {{1, at::zeros({})}}}, {{2}}),
      ElementsAre("clamp"));
}

TEST(ChosenOperators, HardSigmoidWithOneSixthIsHardsigmoid) {
  EXPECT_THAT(TraceNode({.op_type = "HardSigmoid",
                         .attributes = {FloatAttribute("alpha", 1.0f / 6)}},
                        {{2}}),
              ElementsAre("hardsigmoid"));
}

TEST(ChosenOperators, NormalizationsAreOneOperator) {
  const at::Tensor four = at::ones({4});
  EXPECT_THAT(TraceNode({.op_type = "LayerNormalization",
                         .constants = {{1, four}, {2, four}}},
                        {{2, 4}}),
              ElementsAre("layer_norm"));
  EXPECT_THAT(TraceNode({.op_type = "RMSNormalization",
                         .opset = 23,
                         .constants = {{1, four}}},
                        {{2, 4}}),
              ElementsAre("rms_norm"));
  EXPECT_THAT(TraceNode({.op_type = "InstanceNormalization",
                         .constants = {{1, four}, {2, four}}},
                        {{2, 4, 3, 3}}),
              ElementsAre("instance_norm"));
  EXPECT_THAT(TraceNode({.op_type = "GroupNormalization",
                         .attributes = {IntAttribute("num_groups", 2)},
                         .constants = {{1, four}, {2, four}}},
                        {{2, 4, 3, 3}}),
              ElementsAre("group_norm"));
}

TEST(ChosenOperators, AttentionIsOneKernel) {
  const std::vector<std::int64_t> shape = {2, 4, 8, 16};
  EXPECT_THAT(
      TraceNode({.op_type = "Attention", .opset = 23}, {shape, shape, shape}),
      ElementsAre("scaled_dot_product_attention"));
}

TEST(ChosenOperators, AttentionOfPackedHeadsAddsOnlyViewsAndOneCopy) {
  const std::vector<std::int64_t> shape = {2, 8, 64};
  EXPECT_THAT(
      TraceNode({.op_type = "Attention",
                 .opset = 23,
                 .attributes = {IntAttribute("q_num_heads", 4),
                                IntAttribute("kv_num_heads", 4)}},
                {shape, shape, shape}),
      ElementsAre("unflatten", "transpose", "unflatten", "transpose",
                  "unflatten", "transpose", "scaled_dot_product_attention",
                  "transpose", "flatten"));
}

TEST(ChosenOperators, PowWithANumberIsOneOperator) {
  EXPECT_THAT(
      TraceNode({.op_type = "Pow", .constants = {{1, at::tensor(2.0f)}}},
                {{2}}),
      ElementsAre("pow"));
}

TEST(ChosenOperators, PReluPerChannelReadsTheSlopeAsPyTorchKeepsIt) {
  EXPECT_THAT(
      TraceNode({.op_type = "PRelu", .constants = {{1, at::ones({4, 1, 1})}}},
                {{2, 4, 3, 3}}),
      ElementsAre("prelu"));
}

}  // namespace
}  // namespace foretell::onnx
