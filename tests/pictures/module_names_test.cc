#include "src/pictures/module_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/graph_io.h"
#include "tests/pictures/toy_step.h"

namespace foretell::pictures {
namespace {

using testing::ElementsAre;

TEST(ModulePath, IsTheScopeOfAModule) {
  EXPECT_EQ(ModulePath("blocks.0.conv1"), "blocks.0.conv1");
  EXPECT_EQ(ModulePath("fc"), "fc");
  EXPECT_EQ(ModulePath(""), "");
}

TEST(ModulePath, TakesOnnxNamesApart) {
  EXPECT_EQ(ModulePath("/blocks/blocks.0/conv1/Conv"), "blocks.0.conv1");
  EXPECT_EQ(ModulePath("/a/a.b/a.b.c/Add_1"), "a.b.c");
  EXPECT_EQ(ModulePath("/layer10/layer1/Relu"), "layer10.layer1");
  EXPECT_EQ(ModulePath("/Flatten"), "");
}

TEST(ModulesOfNodes, AreTheirScopes) {
  EXPECT_THAT(ModulesOfNodes(ToyGraph()),
              ElementsAre("blocks.0.conv", "blocks.0", "head"));
}

TEST(ModulesOfNodes, FollowParametersWhereThereAreNoScopes) {
  const OperatorGraph graph = ParseGraph(R"(graph "bare"
%x = input f32[4,8]
%w = parameter f32[8,8] label="mlp.0.weight"
%t = t(%w) : f32[8,8] alias %w
%a = mm(%x, %t) : f32[4,8]
%b = relu(%a) : f32[4,8]
%c = neg(%x) : f32[4,8]
output %b, %c
)");
  EXPECT_THAT(ModulesOfNodes(graph),
              ElementsAre("mlp.0", "mlp.0", "mlp.0", ""));
}

TEST(ModulesOfNodes, LeaveTheNetworkItsOwnOperators) {
  const OperatorGraph graph = ParseGraph(R"(graph "flat"
%x = input f32[4,8]
%w = parameter f32[8,8] label="fc.weight"
%a = mm(%x, %w) : f32[4,8] @ "/fc/MatMul"
%b = relu(%a) : f32[4,8] @ "/Relu"
%c = mm(%b, %w) : f32[4,8]
output %c
)");
  EXPECT_THAT(ModulesOfNodes(graph), ElementsAre("fc", "", ""));
}

TEST(ModulesOfNodes, LeadTheBackwardPassHome) {
  const OperatorGraph graph = ParseGraph(R"(graph "trained" mode=training
%x = input f32[4,8]
%w = parameter f32[8,8]
%a = mm(%x, %w) : f32[4,8] @ "first"
%b = gelu(%a) : f32[4,8] @ "second"
phase backward
%g = ones_like(%b) : f32[4,8] backward_temporary
%h = gelu_backward(%g, %a) : f32[4,8] backward_temporary
%u = t(%w) : f32[8,8] alias %w
%i = mm(%h, %u) : f32[4,8] backward_temporary
%j = neg(%i) : f32[4,8] backward_temporary
phase optimizer
%v = mul_(%w, %w) : f32[8,8] alias %w
output %b
)");
  // gelu_backward reads what `first` made; neg follows its operand.
  EXPECT_THAT(ModulesOfNodes(graph),
              ElementsAre("first", "second", "second", "first", "first",
                          "first", "first", ""));
}

TEST(ModulesOfNodes, LeadTheGradientOfTheNetworksOwnHome) {
  const OperatorGraph graph = ParseGraph(R"(graph "trained" mode=training
%x = input f32[4,8]
%w = parameter f32[8,8]
%a = relu(%x) : f32[4,8] @ "/Relu"
%b = mm(%a, %w) : f32[4,8] @ "/fc/MatMul"
phase backward
%u = t(%w) : f32[8,8] alias %w
%g = mm(%b, %u) : f32[4,8] backward_temporary
%h = threshold_backward(%g, %a) : f32[4,8] backward_temporary
output %b
)");
  EXPECT_THAT(ModulesOfNodes(graph), ElementsAre("", "fc", "fc", "fc", ""));
}

TEST(ModulesOfNodes, LeadTheGradientOfAWeightToItsModule) {
  const OperatorGraph graph = ParseGraph(R"(graph "trained" mode=training
%x = input f32[4,8]
%w = parameter f32[8,8] label="fc.weight"
%a = gelu(%x) : f32[4,8] @ "norm"
%b = mm(%a, %w) : f32[4,8] @ "fc"
phase backward
%g = ones_like(%b) : f32[4,8] backward_temporary
%u = t(%w) : f32[8,8] alias %w
%i = mm(%g, %u) : f32[4,8] backward_temporary
%t = t(%a) : f32[8,4] alias %a
%j = mm(%t, %g) : f32[8,8] gradient
output %b
)");
  EXPECT_THAT(ModulesOfNodes(graph),
              ElementsAre("norm", "fc", "fc", "fc", "fc", "norm", "fc"));
}

TEST(ModulesOfStorages, AreThoseOfReadersAndMakers) {
  const OperatorGraph graph = ToyGraph();
  EXPECT_THAT(
      ModulesOfStorages(graph, ModulesOfNodes(graph)),
      ElementsAre("", "blocks.0.conv", "blocks.0.conv", "blocks.0", "head"));
}

}  // namespace
}  // namespace foretell::pictures
