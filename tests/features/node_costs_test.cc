#include "src/features/node_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "foretell/graph_io.h"
#include "tests/mig/toy_device.h"

namespace foretell::learned {
namespace {

using mig::A100;

NodeCosts CostsOf(const std::string& body) {
  return NodeCostsOf(ParseGraph("graph \"g\"\n" + body), A100(), {});
}

constexpr char kNetwork[] = R"(%x = input f32[64,1024]
%a = linear(%x, weight f32[4096,1024]) : f32[64,4096]
%r = relu(%a) : f32[64,4096]
%v = view(%r) {size=[4096,64]} : f32[4096,64] alias %r
)";

/// Column `name` of a node.
float Column(const NodeCosts& costs, std::size_t node, std::string_view name) {
  const std::vector<std::string_view> names = NodeCostNames();
  const auto column =
      static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  return costs.columns.at(node * kNumNodeCosts + column);
}

TEST(NodeCosts, HaveARowOfColumnsAndAShareForEveryNode) {
  const NodeCosts costs = CostsOf(kNetwork);
  EXPECT_EQ(NodeCostNames().size(), kNumNodeCosts);
  EXPECT_EQ(costs.shares.size(), 3u);
  EXPECT_EQ(costs.columns.size(), 3u * kNumNodeCosts);
}

TEST(NodeCosts, ShareTheTimeOfTheKernels) {
  const NodeCosts costs = CostsOf(kNetwork);
  EXPECT_NEAR(std::accumulate(costs.shares.begin(), costs.shares.end(), 0.0), 1,
              1e-6);
  EXPECT_GT(costs.shares[0], costs.shares[1]);
  EXPECT_EQ(costs.shares[2], 0) << "a view has no kernel";
  EXPECT_EQ(Column(costs, 0, "share"), costs.shares[0]);
}

TEST(NodeCosts, AreAllZeroSharesWithoutAnyKernel) {
  const NodeCosts costs = CostsOf(R"(%x = input f32[4,4]
%v = view(%x) {size=[16]} : f32[16] alias %x
)");
  EXPECT_EQ(costs.shares, std::vector<float>{0});
}

TEST(NodeCosts, AreThoseOfTheFullClock) {
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f16[8192,8192]
%y = input f32[4096,4096]
%a = linear(%x, weight f16[8192,8192]) : f16[8192,8192]
%b = linear(%y, weight f32[4096,4096]) : f32[4096,4096]
output %a
output %b
)");
  DeviceSpec device = A100();
  const NodeCosts costs = NodeCostsOf(graph, device, {});
  device.chip_power_w = device.max_power_w;
  device.max_power_w = 200;
  EXPECT_EQ(NodeCostsOf(graph, device, {}).shares, costs.shares);
}

TEST(NodeCosts, SayWhatBoundsANode) {
  // 64 x 4096 x 1024 multiply-accumulates; 17 MB of weights in float32.
  const NodeCosts costs = CostsOf(kNetwork);
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(Column(costs, node, "compute_bound") +
                  Column(costs, node, "memory_bound") +
                  Column(costs, node, "launch_bound"),
              1)
        << node;
  }
  EXPECT_EQ(Column(costs, 2, "launch_bound"), 1);
}

TEST(NodeCosts, CompareArithmeticWithTraffic) {
  const NodeCosts costs = CostsOf(kNetwork);
  const double flops = 2.0 * 64 * 4096 * 1024;
  const double bytes = 4.0 * (64 * 1024 + 4096 * 1024 + 64 * 4096);
  EXPECT_NEAR(Column(costs, 0, "intensity"),
              std::log2((1 + flops) / (1 + bytes)) / 10, 1e-5);
  EXPECT_LT(Column(costs, 1, "intensity"), 0);
  const double l2 = 40.0 * 1024 * 1024;
  EXPECT_NEAR(Column(costs, 0, "bytes_over_l2"), std::log2(1 + bytes / l2) / 8,
              1e-6);
}

}  // namespace
}  // namespace foretell::learned
