#include "src/pictures/module_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/pictures/module_names.h"
#include "tests/pictures/toy_step.h"

namespace foretell::pictures {
namespace {

std::vector<ModuleCost> CostsOf(const OperatorGraph& graph) {
  return CostsByModule(graph, PredictToy(graph).cost, ModulesOfNodes(graph));
}

TEST(CostsByModule, DividesTheStep) {
  const OperatorGraph graph = ToyGraph();
  const CostEstimate cost = PredictToy(graph).cost;
  const std::vector<ModuleCost> modules =
      CostsByModule(graph, cost, ModulesOfNodes(graph));
  ASSERT_EQ(modules.size(), 3U);
  EXPECT_EQ(modules[0].path, "blocks.0");
  EXPECT_EQ(modules[1].path, "blocks.0.conv");
  EXPECT_EQ(modules[2].path, "head");
  EXPECT_EQ(modules[1].parameters, 64 * 64 * 9);
  EXPECT_EQ(modules[1].parameter_bytes, kWeightBytes);
  EXPECT_EQ(modules[1].macs, graph.node(0).macs);
  EXPECT_EQ(modules[0].macs, 0);
  EXPECT_EQ(modules[2].result_bytes, kMapBytes);
  EXPECT_DOUBLE_EQ(modules[1].gpu_us, cost.nodes[0].gpu_us);
  EXPECT_DOUBLE_EQ(modules[2].energy_j, cost.nodes[2].energy_j);
}

TEST(CostsByModule, NamesTheOptimizer) {
  const OperatorGraph graph = ParseGraph(R"(graph "trained" mode=training
%w = parameter f32[8,8] label="fc.weight"
phase optimizer
%v = mul_(%w, %w) : f32[8,8] alias %w
output %v
)");
  const std::vector<ModuleCost> modules = CostsOf(graph);
  ASSERT_EQ(modules.size(), 2U);
  EXPECT_EQ(modules[0].path, kOptimizerModule);
  EXPECT_GT(modules[0].gpu_us, 0);
  EXPECT_EQ(modules[1].path, "fc");
  EXPECT_EQ(modules[1].parameters, 64);
}

TEST(TreeOfModules, AddsUpNestedModules) {
  const OperatorGraph graph = ToyGraph();
  const CostEstimate cost = PredictToy(graph).cost;
  const ModuleTree network = TreeOfModules(graph, cost);
  EXPECT_EQ(network.name, "");
  EXPECT_EQ(network.cost.result_bytes, 3 * kMapBytes);
  ASSERT_EQ(network.nested.size(), 2U);
  const ModuleTree& blocks = network.nested[0];
  EXPECT_EQ(blocks.name, "blocks");
  EXPECT_EQ(blocks.cost.result_bytes, 2 * kMapBytes);
  EXPECT_EQ(blocks.cost.parameters, 64 * 64 * 9);
  ASSERT_EQ(blocks.nested.size(), 1U);
  EXPECT_EQ(blocks.nested[0].nested.at(0).name, "conv");
  EXPECT_EQ(network.nested[1].name, "head");
}

TEST(TreeOfModules, ListsModulesInTheOrderInWhichTheyRun) {
  const OperatorGraph graph = ParseGraph(R"(graph "ten" mode=inference
%w = parameter f32[8,8] label="unused.weight"
%x = input f32[8,8] label="x"
%a = relu(%x) : f32[8,8] @ "layers.9"
%b = relu(%a) : f32[8,8] @ "layers.10"
output %b
)");
  const ModuleTree network = TreeOfModules(graph, PredictToy(graph).cost);
  ASSERT_EQ(network.nested.size(), 2U);
  EXPECT_EQ(network.nested[0].name, "layers");
  EXPECT_EQ(network.nested[0].nested.at(0).name, "9");
  EXPECT_EQ(network.nested[0].nested.at(1).name, "10");
  EXPECT_EQ(network.nested[1].name, "unused");
}

TEST(Merged, MakesTheDeepestPartOfWhatIsAroundThem) {
  const std::vector<ModuleCost> modules = CostsOf(ToyGraph());
  const std::vector<ModuleCost> fewer = Merged(modules, 2);
  ASSERT_EQ(fewer.size(), 2U);
  EXPECT_EQ(fewer[0].path, "blocks.0");
  EXPECT_EQ(fewer[0].parameters, 64 * 64 * 9);
  EXPECT_EQ(fewer[0].result_bytes, 2 * kMapBytes);
  const std::vector<ModuleCost> one = Merged(modules, 1);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].path, "");
  EXPECT_EQ(one[0].result_bytes, 3 * kMapBytes);
}

}  // namespace
}  // namespace foretell::pictures
