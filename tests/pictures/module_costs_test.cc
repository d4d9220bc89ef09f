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
