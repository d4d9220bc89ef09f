#include "src/runtime/tensorrt/build_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"

// The layers that NVIDIA's documentation lists, on graphs of a few operators.

namespace foretell::runtime {
namespace {

using testing::ElementsAre;

OperatorGraph Engine(const std::string& text, const std::string& options = "") {
  return BuildEngine(ParseGraph("graph \"toy\" precision=fp16\n" + text),
                     ParseRuntime("--runtime", "tensorrt" + options));
}

/// Targets of the nodes, with those of the calls inside: "conv2d+relu".
std::vector<std::string> Kernels(const OperatorGraph& engine) {
  std::vector<std::string> kernels;
  for (const Node& node : engine.nodes()) {
    if (node.kind == OpKind::kView) continue;
    kernels.push_back(node.target);
    for (const Node& call : node.calls) kernels.back() += "+" + call.target;
  }
  return kernels;
}

TEST(BuildEngine, AConvolutionTakesNormResidualAndActivation) {
  const OperatorGraph engine = Engine(
      "%x = input f16[1,8,4,4]\n"
      "%a = conv2d(%x, parameter f16[8,8,1,1]) : f16[1,8,4,4]\n"
      "%b = batch_norm(%a, parameter f16[8], parameter f16[8], buffer f16[8], "
      "buffer f16[8]) : f16[1,8,4,4]\n"
      "%c = add_(%b, %x) : f16[1,8,4,4] alias %b\n"
      "%d = relu_(%c) : f16[1,8,4,4] alias %c\n"
      "output %d\n");
  EXPECT_THAT(Kernels(engine), ElementsAre("conv2d+add_+relu_"));
  // The norm's parameters are in the weights; the residual is the input.
  EXPECT_EQ(engine.node(0).inputs.size(), 2U);
  EXPECT_EQ(engine.value(engine.outputs()[0]).strides,
            (std::vector<std::int64_t>{128, 1, 32, 8}));
  EXPECT_EQ(ToString(engine.info().runtime), "tensorrt");
}

TEST(BuildEngine, AConvolutionTakesWhatFollowsASqueeze) {
  const OperatorGraph engine = Engine(
      "%x = input f16[1,8,4,1]\n"
      "%a = conv2d(%x, parameter f16[8,8,1,1]) : f16[1,8,4,1]\n"
      "%b = squeeze(%a) {dim=3} : f16[1,8,4] alias %a\n"
      "%c = relu(%b) : f16[1,8,4]\n"
      "output %c\n");
  EXPECT_THAT(Kernels(engine), ElementsAre("conv2d+squeeze+relu"));
  EXPECT_EQ(engine.value(engine.node(0).outputs[0]).type.shape,
            (std::vector<std::int64_t>{1, 8, 4, 1}));
  EXPECT_EQ(engine.value(engine.outputs()[0]).type.shape,
            (std::vector<std::int64_t>{1, 8, 4}));
}

TEST(BuildEngine, APoolingWritesNoIndices) {
  const OperatorGraph engine = Engine(
      "%x = input f16[1,8,4,4]\n"
      "%a = max_pool2d(%x) {kernel_size=[2, 2], stride=[2, 2]} : "
      "f16[1,8,2,2]\n"
      "%b = adaptive_avg_pool2d(%a) {output_size=[1, 1]} : f16[1,8,1,1]\n"
      "%c = mean(%a) {dim=[2, 3], keepdim=true} : f16[1,8,1,1]\n"
      "output %b, %c\n");
  EXPECT_THAT(Kernels(engine),
              ElementsAre("fused_elementwise+max_pool2d",
                          "fused_elementwise+adaptive_avg_pool2d",
                          "fused_elementwise+mean"));
}

TEST(BuildEngine, AResultThatOthersReadEndsALayer) {
  EXPECT_THAT(Kernels(Engine("%x = input f16[4,8]\n"
                             "%a = linear(%x, parameter f16[8,8]) : f16[4,8]\n"
                             "%b = gelu(%a) : f16[4,8]\n"
                             "%c = mul(%a, %b) : f16[4,8]\n"
                             "output %c\n")),
              ElementsAre("linear", "fused_elementwise+gelu+mul"));
}

TEST(BuildEngine, AMergedLayerBringsTheViewsOfItsResult) {
  EXPECT_THAT(Kernels(Engine("%x = input f16[4,8]\n"
                             "%y = input f16[4,8]\n"
                             "%a = exp(%x) : f16[4,8]\n"
                             "%b = sin(%y) : f16[4,8]\n"
                             "%c = view(%b) {size=[4, 8]} : f16[4,8] alias %b\n"
                             "%d = add(%a, %c) : f16[4,8]\n"
                             "output %d\n")),
              ElementsAre("fused_elementwise+exp+sin+view+add"));
}

TEST(BuildEngine, ANormTakesTheResidualBeforeIt) {
  EXPECT_THAT(
      Kernels(Engine(
          "%x = input f16[4,8]\n"
          "%a = linear(%x, parameter f16[8,8], parameter f16[8]) : f16[4,8]\n"
          "%b = add(%a, %x) : f16[4,8]\n"
          "%c = layer_norm(%b, parameter f16[8], parameter f16[8]) "
          "{normalized_shape=[8]} : f16[4,8]\n"
          "output %c\n")),
      ElementsAre("linear", "fused_reduce+add+layer_norm"));
}

TEST(BuildEngine, LinearLayersOfOneInputAreOneProduct) {
  const OperatorGraph engine = Engine(
      "%x = input f16[4,8]\n"
      "%a = linear(%x, parameter f16[6,8]) : f16[4,6]\n"
      "%b = linear(%x, parameter f16[2,8]) : f16[4,2]\n"
      "output %a\noutput %b\n");
  EXPECT_THAT(Kernels(engine), ElementsAre("linear"));
  EXPECT_EQ(engine.node(0).macs, 4 * 8 * 8);
  EXPECT_EQ(engine.value(engine.outputs()[1]).type.shape,
            (std::vector<std::int64_t>{4, 2}));
}

/// Attention of one head; `bias` goes between scale and softmax.
std::string AttentionText(const std::string& bias) {
  return "%q = input f16[2,4,8]\n%k = input f16[2,4,8]\n"
         "%v = input f16[2,4,8]\n%m = input f16[2,1,4]\n"
         "%r = input f16[2,4,4]\n"
         "%t = transpose(%k) {dim0=1, dim1=2} : f16[2,8,4] strides=[32, 1, 8] "
         "alias %k\n"
         "%s = matmul(%q, %t) : f16[2,4,4]\n"
         "%d = div(%s) {other=2.0} : f16[2,4,4]\n"
         "%b = add(%d, " +
         bias +
         ") : f16[2,4,4]\n"
         "%p = softmax(%b) {dim=-1} : f16[2,4,4]\n"
         "%o = matmul(%p, %v) : f16[2,4,8]\n"
         "output %o\n";
}

TEST(BuildEngine, AttentionWithAMaskIsOneKernel) {
  const OperatorGraph engine = Engine(AttentionText("%m"));
  EXPECT_THAT(Kernels(engine), ElementsAre("scaled_dot_product_attention"));
  EXPECT_EQ(engine.nodes().back().macs, 2 * 2 * 4 * 4 * 8);
}

TEST(BuildEngine, ABiasAsLargeAsTheScoresKeepsAttentionApart) {
  EXPECT_THAT(Kernels(Engine(AttentionText("%r"))),
              ElementsAre("matmul+div", "fused_reduce+add+softmax", "matmul"));
}

TEST(BuildEngine, ConstantsAreComputedByTheBuilder) {
  const OperatorGraph engine = Engine(
      "%x = input f16[4,8]\n"
      "%w = parameter f16[8]\n"
      "%a = exp(%w) : f16[8]\n"
      "%b = neg(%a) : f16[8]\n"
      "%c = mul(%x, %b) : f16[4,8]\n"
      "output %c\n");
  EXPECT_THAT(Kernels(engine), ElementsAre("mul"));
  std::int64_t stored = 0;
  for (const Storage& storage : engine.storages()) {
    if (IsSourceRole(storage.role)) stored += storage.bytes;
  }
  EXPECT_EQ(stored, 8 * 2);  // %b; the engine does not keep %w.
}

TEST(BuildEngine, Int8IsTheTypeOfWeightsAndOfWhatIsInside) {
  const OperatorGraph engine = Engine(
      "%x = input f16[4,8]\n"
      "%a = linear(%x, parameter f16[16,8]) : f16[4,16]\n"
      "%b = linear(%a, parameter f16[8,16]) : f16[4,8]\n"
      "output %b\n",
      ",int8");
  const auto dtype = [&](ValueId id) { return engine.value(id).type.dtype; };
  EXPECT_EQ(dtype(engine.node(0).inputs[0]), DType::kF16);
  EXPECT_EQ(dtype(engine.node(0).inputs[1]), DType::kI8);
  EXPECT_EQ(dtype(engine.node(1).inputs[0]), DType::kI8);
  EXPECT_EQ(dtype(engine.outputs()[0]), DType::kF16);
  EXPECT_EQ(
      engine.storage(engine.value(engine.node(1).inputs[0]).storage).bytes,
      4 * 16);
}

TEST(BuildEngine, RecurrentLayersKeepTheirTypesUnderInt8) {
  const OperatorGraph engine = Engine(
      "%x = input f16[5,2,16]\n"
      "%a = linear(%x, parameter f16[16,16]) : f16[5,2,16]\n"
      "%y = gru(%a, input f16[1,2,16], parameter f16[48,16], parameter "
      "f16[48,16]) : f16[5,2,16]\n"
      "%z = linear(%y, parameter f16[16,16]) : f16[5,2,16]\n"
      "output %z\n",
      ",int8");
  const Node& gru = engine.node(1);
  ASSERT_EQ(gru.target, "gru");
  for (const ValueId id : gru.inputs) {
    EXPECT_EQ(engine.value(id).type.dtype, DType::kF16);
  }
  EXPECT_EQ(engine.value(gru.outputs[0]).type.dtype, DType::kF16);
  EXPECT_EQ(engine.value(engine.node(0).inputs[1]).type.dtype, DType::kI8);
}

TEST(BuildEngine, WithoutProductsInt8ChangesNoTypes) {
  const OperatorGraph engine = Engine(
      "%x = input f16[2,16]\n"
      "%a = softmax(%x) {dim=1} : f16[2,16]\n"
      "%b = cumsum(%a) {dim=1} : f16[2,16]\n"
      "output %b\n",
      ",int8");
  for (const Value& value : engine.values()) {
    EXPECT_EQ(value.type.dtype, DType::kF16) << value.name;
  }
}

TEST(BuildEngine, RefusesToTrain) {
  EXPECT_THROW(BuildEngine(ParseGraph("graph \"toy\" mode=training\n"
                                      "%x = input f32[2]\n"),
                           {.runtime = Runtime::kTensorRt}),
               Error);
}

}  // namespace
}  // namespace foretell::runtime
