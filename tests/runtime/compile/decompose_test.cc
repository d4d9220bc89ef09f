#include "src/runtime/compile/decompose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "foretell/graph_io.h"

namespace foretell::runtime {
namespace {

using testing::ElementsAre;

constexpr RuntimeSpec kCompiled = {.runtime = Runtime::kCompile};

std::vector<std::string> Targets(const OperatorGraph& graph) {
  std::vector<std::string> targets;
  for (const Node& node : graph.nodes()) targets.push_back(node.target);
  return targets;
}

TEST(Decompose, LeavesGradientsGradientsWithoutAnOptimizer) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "g" mode=training
%x = input f32[8,8]
%w = parameter f32[8,8]
%y = mm(%x, %w) : f32[8,8]
phase backward
%g = ones_like(%y) : f32[8,8] backward_temporary
%t = t(%x) : f32[8,8] strides=[1, 8] alias %x
%d = mm(%t, %g) : f32[8,8] gradient
output %y
)"),
                                        kCompiled, kFusedScatters);
  EXPECT_EQ(std::ranges::count(graph.storages(), TensorRole::kGradient,
                               &Storage::role),
            1);
}

TEST(Decompose, ScattersWhatWasGatheredWithoutReadingIt) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "g" mode=training
%x = input f32[8,8]
%i = input i64[8,2]
%y = gather(%x, %i) {dim=1} : f32[8,2]
phase backward
%g = ones_like(%y) : f32[8,2] backward_temporary
%d = gather_backward(%g, %x, %i) {dim=1} : f32[8,8] backward_temporary
output %y
)"),
                                        kCompiled, kFusedScatters);
  const Node& scatter = graph.nodes().back();
  EXPECT_EQ(scatter.target, "scatter_add");
  EXPECT_EQ(scatter.inputs.size(), 3U);
  EXPECT_EQ(graph.value(scatter.inputs[0]).producer,
            static_cast<NodeId>(graph.nodes().size()) - 2);
}

TEST(Decompose, SumsTheGradientOfABias) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "c" mode=training
%x = input f32[2,4,8,8]
%w = parameter f32[4,4,1,1]
%g = input f32[2,4,8,8]
phase backward
%a, %b, %c = convolution_backward(%g, %x, %w) {bias_sizes=[4]} : f32[2,4,8,8] backward_temporary, f32[4,4,1,1] gradient, f32[4] gradient
output %a
)"),
                                        kCompiled, kFusedScatters);
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(graph.node(0).outputs.size(), 2U);
  EXPECT_EQ(graph.node(1).target, "sum");
}

TEST(Decompose, HasNoGroupNormLeftInTheBackwardPass) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "n" mode=training
%x = input f32[2,8,4,4]
%m = input f32[2,4]
%r = input f32[2,4]
%w = parameter f32[8]
%g = input f32[2,8,4,4]
phase backward
%a, %b, %c = native_group_norm_backward(%g, %x, %m, %r, %w) {N=2, C=8, HxW=16, group=4} : f32[2,8,4,4] backward_temporary, f32[8] gradient, f32[8] gradient
output %a
)"),
                                        kCompiled, kFusedScatters);
  // Along rows, along the channels of a group, and along the batch, of two.
  EXPECT_EQ(std::ranges::count(graph.nodes(), OpKind::kReduce, &Node::kind), 6);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape,
            (std::vector<std::int64_t>{2, 8, 4, 4}));
}

TEST(Decompose, AnInstanceNormIsAlongTheRowsOfEachChannel) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "m" mode=inference
%x = input f32[2,8,4,4]
%a = instance_norm(%x) {use_input_stats=true} : f32[2,8,4,4]
output %a
)"),
                                        kCompiled, kFusedScatters);
  ASSERT_EQ(graph.node(0).target, "var_mean");
  EXPECT_EQ(graph.value(graph.node(0).outputs[0]).type.shape,
            (std::vector<std::int64_t>{2, 8, 1, 1}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape,
            (std::vector<std::int64_t>{2, 8, 4, 4}));
}

TEST(Decompose, ReadsNoOperandThatOnlyGivesAShapeOrAType) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "m" mode=inference
%x = input f32[8,1]
%y = input f32[8,8]
%a = relu(%y) : f32[8,8]
%b = expand_as(%x, %a) : f32[8,8] strides=[1, 0] alias %x
%c = type_as(%b, %a) : f32[8,8] strides=[1, 0] alias %x
%d = zeros_like(%a) : f32[8,8]
%e = add(%c, %d) : f32[8,8]
output %e
)"),
                                        kCompiled, kFusedScatters);
  ASSERT_EQ(graph.nodes().size(), 4U);  // Without type_as.
  EXPECT_EQ(graph.node(1).target, "expand_as");
  EXPECT_EQ(graph.node(1).inputs.size(), 1U);
  EXPECT_EQ(graph.node(2).target, "zeros_like");
  EXPECT_TRUE(graph.node(2).inputs.empty());
  EXPECT_EQ(graph.node(3).inputs.front(), graph.node(1).outputs.front());
}

TEST(Decompose, ExpandsEachOfTheTensorsThatAreBroadcast) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "b" mode=inference
%x = input f32[8,1]
%y = input f32[8,8]
%a, %b = broadcast_tensors(%x, %y) : f32[8,8] strides=[1, 0] alias %x, f32[8,8] alias %y
%c = sub(%a, %b) : f32[8,8]
output %c
)"),
                                        kCompiled, kFusedScatters);
  EXPECT_THAT(Targets(graph), ElementsAre("expand", "expand", "sub"));
  EXPECT_EQ(graph.node(1).inputs.size(), 1U);
}

TEST(Decompose, WritesTheNormsOfNormalizedWeights) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "n" mode=inference
%v = parameter f32[4,2,8]
%g = parameter f32[1,1,8]
%w, %n = _weight_norm_interface(%v, %g) {dim=2} : f32[4,2,8], f32[1,1,8]
output %w
)"),
                                        kCompiled, kFusedScatters);
  EXPECT_THAT(Targets(graph), ElementsAre("norm", "div", "mul"));
  EXPECT_EQ(graph.value(graph.node(0).outputs[0]).type.shape,
            (std::vector<std::int64_t>{1, 1, 8}));
}

TEST(Decompose, ComparesRowsAndColumnsForATriangle) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "t"
%x = input bool[4,8]
%y = tril(%x) {diagonal=0} : bool[4,8]
output %y
)"),
                                        kCompiled, kFusedScatters);
  EXPECT_THAT(Targets(graph),
              ElementsAre("arange", "unsqueeze", "arange", "unsqueeze", "sub",
                          "le", "logical_and"));
  EXPECT_EQ(graph.value(graph.node(4).outputs[0]).type.shape,
            (std::vector<std::int64_t>{4, 8}));
}

TEST(Decompose, MultipliesTheCopyThatALinearLayerKeeps) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "l" mode=training
%x = input f32[2,8,4]
%w = parameter f32[16,4]
%b = parameter f32[16]
%y, %rows = linear(%x, %w, %b) : f32[2,8,16], f32[16,4]
output %y
)"),
                                        kCompiled, kFusedScatters);
  EXPECT_THAT(Targets(graph),
              ElementsAre("clone", "view", "linear", "view", "add"));
}

TEST(Decompose, WritesSelectedElementsIntoATensorOfTheirOwn) {
  const OperatorGraph graph = Decompose(ParseGraph(R"(graph "w"
%m = input bool[8]
%x = input f32[8]
%y = exp(%x) : f32[8]
%z = where(%m, %x, %y) : f32[8] alias %y
output %z
)"),
                                        kCompiled, kFusedScatters);
  EXPECT_NE(graph.value(graph.node(1).outputs[0]).storage,
            graph.value(graph.node(0).outputs[0]).storage);
}

constexpr char kRepeatedMask[] = R"(
%q = input bf16[2,4,8,16]
%m = input bool[2,1,8,1]
%e = expand(%m) {size=[2, 1, 8, 8]} : bool[2,1,8,8] strides=[8, 8, 1, 0] alias %m
%y = scaled_dot_product_attention(%q, %q, %q, %e) {dropout_p=0.0} : bf16[2,4,8,16]
)";

std::vector<DType> TypesOfProducts(const OperatorGraph& graph) {
  std::vector<DType> types;
  for (const Node& node : graph.nodes()) {
    if (node.target != "bmm") continue;
    types.push_back(graph.value(node.outputs[0]).type.dtype);
  }
  return types;
}

TEST(Decompose, WritesAttentionUnderARepeatedMaskAsProductsInF32) {
  const OperatorGraph graph =
      Decompose(ParseGraph(std::string(R"(graph "a" mode=inference)") +
                           kRepeatedMask + "output %y\n"),
                kCompiled, kFusedScatters);
  EXPECT_EQ(TypesOfProducts(graph), (std::vector{DType::kF32, DType::kF32}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.dtype, DType::kBF16);
}

// transformers returns a view of the result, and the backward pass reads that.
TEST(Decompose, RunsGradientsOfAttentionInTheTypeOfAutocast) {
  const OperatorGraph graph = Decompose(
      ParseGraph(
          std::string(R"(graph "a" mode=training autocast=bf16)") +
          kRepeatedMask +
          R"(%r = reshape(%y) {shape=[2, 4, 8, 16]} : bf16[2,4,8,16] alias %y
phase backward
%g = ones_like(%y) : bf16[2,4,8,16] backward_temporary
%dq, %dk, %dv = _scaled_dot_product_flash_attention_backward(%g, %q, %q, %q, %r) : bf16[2,4,8,16] backward_temporary, bf16[2,4,8,16] backward_temporary, bf16[2,4,8,16] backward_temporary
output %dq
)"),
      kCompiled, kFusedScatters);
  EXPECT_EQ(TypesOfProducts(graph),
            (std::vector{DType::kF32, DType::kF32, DType::kBF16, DType::kBF16,
                         DType::kBF16, DType::kBF16}));
}

/// Of what becomes of the product of `x` by the transposed `w`.
std::vector<std::string> TargetsOfLinear(const std::string& x,
                                         const std::string& w,
                                         const std::string& y) {
  const OperatorGraph graph =
      Decompose(ParseGraph("graph \"l\" mode=inference\n%x = input " + x +
                           "\n%w = parameter " + w +
                           "\n%y = linear(%x, %w) : " + y + "\noutput %y\n"),
                kCompiled, kFusedScatters);
  return Targets(graph);
}

TEST(Decompose, PadsProductsWhoseRowsLieApartUnevenly) {
  const std::vector<std::string> whole = {"linear"};
  EXPECT_EQ(
      TargetsOfLinear("bf16[4096,768]", "bf16[50257,768]", "bf16[4096,50257]"),
      (std::vector<std::string>{"constant_pad_nd", "linear", "view"}));
  EXPECT_EQ(
      TargetsOfLinear("bf16[4096,768]", "bf16[50264,768]", "bf16[4096,50264]"),
      whole);
  EXPECT_EQ(
      TargetsOfLinear("f32[4096,768]", "f32[50257,768]", "f32[4096,50257]"),
      whole);
  // Bound by memory, and odd in the rows alone, which lie evenly.
  EXPECT_EQ(
      TargetsOfLinear("bf16[64,768]", "bf16[50257,768]", "bf16[64,50257]"),
      whole);
  EXPECT_EQ(
      TargetsOfLinear("bf16[4095,768]", "bf16[50264,768]", "bf16[4095,50264]"),
      whole);
}

}  // namespace
}  // namespace foretell::runtime
