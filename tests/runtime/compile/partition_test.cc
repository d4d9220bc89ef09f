// The minimum cut between what a step keeps and what it computes again, by
// hand.

#include "src/runtime/compile/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/graph/block_runs.h"
#include "src/graph/recompute_spec.h"
#include "src/runtime/compile/joint_graph.h"
#include "src/runtime/compile/keep_policies.h"
#include "src/runtime/compile/min_cut.h"
#include "src/runtime/compile/saved_results.h"
#include "src/runtime/compile/saved_tensors.h"

namespace foretell::runtime {
namespace {

/// Two blocks: x·w and two operators element by element, and a product. The
/// second of the two is in memory anyway, because the product's backward pass
/// reads it, and the first is computed again from x·w.
constexpr char kChain[] = R"(graph "chain" mode=training
%x = input f32[64,64]
%w = parameter f32[64,64]
%v = parameter f32[64,64]
%a = mm(%x, %w) : f32[64,64] @ "blocks.0.first"
%b = sin(%a) : f32[64,64] @ "blocks.0"
%c = exp(%b) : f32[64,64] @ "blocks.0"
%d = mm(%c, %v) : f32[64,64] @ "blocks.1"
%e = sum(%d) : f32[]
phase backward
%ge = ones_like(%e) : f32[] backward_temporary
%gd = expand(%ge) {size=[64, 64]} : f32[64,64] strides=[0, 0] alias %ge
%gc = mm(%gd, %v) : f32[64,64] backward_temporary
%gv = mm(%c, %gd) : f32[64,64] gradient
%gb = mul(%gc, %c) : f32[64,64] backward_temporary
%cos = cos(%a) : f32[64,64] backward_temporary
%ga = mul(%gb, %cos) : f32[64,64] backward_temporary
%gw = mm(%x, %ga) : f32[64,64] gradient
output %e
)";

std::vector<std::string> KeptIn(const OperatorGraph& graph,
                                const JointGraph& joint, double budget = 1) {
  std::vector<std::string> names;
  for (const std::int32_t place : SavedTensors(joint, budget)) {
    const JointNode& node = joint.nodes[static_cast<std::size_t>(place)];
    if (!node.is_source) names.push_back(graph.value(node.value).name);
  }
  return names;
}

std::vector<std::string> Kept(const OperatorGraph& graph, double budget = 1) {
  return KeptIn(graph, MakeJointGraph(graph), budget);
}

TEST(MinCut, CutsTheCheapestEdges) {
  // 0 → 1 → 3 of 2 and 1, 0 → 2 → 3 of 1 and 2.
  const std::vector<bool> side =
      SourceSide(4, {{0, 1, 2}, {1, 3, 1}, {0, 2, 1}, {2, 3, 2}}, 0, 3);
  EXPECT_EQ(side, (std::vector<bool>{true, true, false, false}));
}

TEST(MinCut, LeavesWhatLeadsNowhereWithTheSource) {
  // 0 → 1 → 2 of 1 each: the later edge. 3 has no way to the sink.
  const std::vector<bool> side =
      SourceSide(4, {{0, 1, 1}, {1, 2, 1}, {0, 3, 0}}, 0, 2);
  EXPECT_EQ(side, (std::vector<bool>{true, true, false, true}));
}

TEST(MinCut, RefusesAnUnlimitedPath) {
  EXPECT_THROW(SourceSide(2, {{0, 1, kUnlimited}}, 0, 1), Error);
}

TEST(SavedTensors, KeepsProductsAndWhatBackwardProductsRead) {
  EXPECT_EQ(Kept(ParseGraph(kChain)), (std::vector<std::string>{"a", "c"}));
}

TEST(SavedTensors, KeepsWhatTheCallerReadsNextToItsOperand) {
  // exp could be computed again from the product, but is in memory anyway.
  const OperatorGraph step = ParseGraph(R"(graph "result" mode=training
%x = input f32[64,64]
%w = parameter f32[64,64]
%a = mm(%x, %w) : f32[64,64]
%b = exp(%a) : f32[64,64]
%e = sum(%b) : f32[]
phase backward
%ge = ones_like(%e) : f32[] backward_temporary
%gb = expand(%ge) {size=[64, 64]} : f32[64,64] strides=[0, 0] alias %ge
%cos = cos(%a) : f32[64,64] backward_temporary
%gc = mul(%gb, %b) : f32[64,64] backward_temporary
%ga = mul(%gc, %cos) : f32[64,64] backward_temporary
%gw = mm(%x, %ga) : f32[64,64] gradient
output %b
)");
  EXPECT_EQ(Kept(step), (std::vector<std::string>{"a", "b"}));
}

TEST(SavedTensors, KeepsOnlySourcesWithoutABudget) {
  EXPECT_TRUE(Kept(ParseGraph(kChain), 0).empty());
}

TEST(Partition, ComputesAgainInTheBackwardPass) {
  // exp has no product between it and its two readers in the backward pass.
  const OperatorGraph step = ParseGraph(R"(graph "again" mode=training
%x = input f32[64,64]
%w = parameter f32[64,64]
%a = mm(%x, %w) : f32[64,64]
%b = sin(%a) : f32[64,64]
%c = exp(%b) : f32[64,64]
%e = sum(%c) : f32[]
phase backward
%ge = ones_like(%e) : f32[] backward_temporary
%gc = expand(%ge) {size=[64, 64]} : f32[64,64] strides=[0, 0] alias %ge
%gb = mul(%gc, %c) : f32[64,64] backward_temporary
%cos = cos(%a) : f32[64,64] backward_temporary
%ga = mul(%gb, %cos) : f32[64,64] backward_temporary
%gw = mm(%x, %ga) : f32[64,64] gradient
output %e
)");
  ASSERT_EQ(Kept(step), std::vector<std::string>{"a"});
  const OperatorGraph graph = Partition(step);
  std::vector<std::string> backward;
  for (const Node& node : graph.nodes()) {
    if (node.phase == Phase::kBackward) backward.push_back(node.target);
  }
  EXPECT_EQ(backward,
            (std::vector<std::string>{"ones_like", "expand", "sin", "exp",
                                      "mul", "cos", "mul", "mm"}));
  const auto saved =
      std::ranges::count(graph.storages(), TensorRole::kSaved, &Storage::role);
  EXPECT_EQ(saved, 1);
}

TEST(MakeJointGraph, HasEachOperatorOnceThatComputesTheSame) {
  // Two norms over one tensor: their moments are the same, their results not.
  const OperatorGraph step = ParseGraph(R"(graph "norms" mode=training
%x = input f32[8,16]
%v = parameter f32[16]
%w = parameter f32[16]
%s, %m = var_mean(%x) {dim=[1], keepdim=true} : f32[8,1], f32[8,1]
%a = sub(%x, %m) : f32[8,16]
%b = mul(%a, %v) : f32[8,16]
%s2, %m2 = var_mean(%x) {dim=[1], keepdim=true} : f32[8,1], f32[8,1]
%c = sub(%x, %m2) : f32[8,16]
%d = mul(%c, %w) : f32[8,16]
%y = add(%b, %d) : f32[8,16]
output %y
)");
  const JointGraph joint = MakeJointGraph(step);
  const auto place_of = [&](const std::string& name) {
    const auto value =
        std::ranges::find(step.values(), name, &foretell::Value::name);
    return joint.place_of[static_cast<std::size_t>(
        std::distance(step.values().begin(), value))];
  };
  EXPECT_EQ(place_of("m2"), place_of("m"));
  EXPECT_EQ(place_of("c"), place_of("a"));
  EXPECT_NE(place_of("d"), place_of("b"));
}

TEST(MakeJointGraph, TakesOneDimensionForAnotherAsPythonsHashesDo) {
  const OperatorGraph step = ParseGraph(R"(graph "hashes" mode=training
%x = input i64[8]
%a = unsqueeze(%x) {dim=-2} : i64[1,8] alias %x
%b = unsqueeze(%x) {dim=-1} : i64[8,1] alias %x
%c = unsqueeze(%x) {dim=-2} : i64[1,8] alias %x
%d = unsqueeze(%x) {dim=-1} : i64[8,1] alias %x
%e = sub(%a, %b) : i64[8,8]
%f = sub(%c, %d) : i64[8,8]
%y = add(%e, %f) : i64[8,8]
output %y
)");
  const JointGraph joint = MakeJointGraph(step);
  const auto place_of = [&](NodeId node) {
    return joint
        .place_of[static_cast<std::size_t>(step.node(node).outputs.front())];
  };
  EXPECT_EQ(place_of(2), place_of(0));
  EXPECT_NE(place_of(3), place_of(1));
  EXPECT_NE(place_of(5), place_of(4));
}

TEST(MakeJointGraph, TakesACastToTheSameTypeForItsOperand) {
  const OperatorGraph step = ParseGraph(R"(graph "cast" mode=training
%x = input f32[8]
%a = exp(%x) : f32[8]
%b = to(%a) {copy=false} : f32[8] alias %a
%y = sin(%b) : f32[8]
output %y
)");
  EXPECT_EQ(MakeJointGraph(step).nodes.size(), 3U);
}

// flatten returns a matrix as it is: an optimizer reads the parameter.
TEST(MakeJointGraph, TakesAViewOfTheSameShapeForItsOperand) {
  const OperatorGraph step = ParseGraph(R"(graph "view" mode=training
%w = parameter f32[8,4]
%a = flatten(%w) {start_dim=1, end_dim=-1} : f32[8,4] alias %w
%b = transpose(%a) {dim0=0, dim1=1} : f32[4,8] strides=[1, 4] alias %w
%y = sin(%b) : f32[4,8]
output %y
)");
  EXPECT_EQ(MakeJointGraph(step).nodes.size(), 3U);
}

std::vector<std::string> KeptBy(const std::string& checkpoint) {
  const OperatorGraph step = ParseGraph(kChain);
  const RecomputeSpec spec = ParseRecompute(checkpoint);
  JointGraph joint = MakeJointGraph(step);
  SetKeepPolicies(FindBlockRuns(step, spec, BlocksOf(spec, 0)), joint);
  return KeptIn(step, joint);
}

TEST(Checkpoints, KeepWhatOneBlockHandsToTheNext) {
  EXPECT_EQ(Kept(ParseGraph(kChain)), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(KeptBy("blocks.*"), std::vector<std::string>{"c"});
}

TEST(Checkpoints, ComputeTheOnlyBlockAgain) {
  // %c is computed again as well: the product that reads it is in no block.
  EXPECT_TRUE(KeptBy("blocks.0").empty());
}

TEST(Checkpoints, KeepTheOperatorsOfSave) {
  // %d is no longer computed again, so nothing asks for %c before the products
  // of gradients do.
  EXPECT_EQ(KeptBy("blocks.*,save=mm"), std::vector<std::string>{"a"});
}

TEST(Checkpoints, RunProductsInTheBackwardPass) {
  const OperatorGraph step = ParseGraph(kChain);
  const RecomputeSpec spec = ParseRecompute("blocks.*");
  const BlockRuns runs = FindBlockRuns(step, spec, BlocksOf(spec, 0));
  const OperatorGraph graph = Partition(step, &runs);
  const auto products = std::ranges::count_if(graph.nodes(), [](const Node& n) {
    return n.phase == Phase::kBackward && n.target == "mm";
  });
  EXPECT_EQ(products, 4);  // Three of gradients, and %a.
}

TEST(Partition, KeepsTheLossOfTheForwardPass) {
  const OperatorGraph graph = Partition(ParseGraph(R"(graph "loss" mode=training
%x = input f32[64,64]
%w = parameter f32[64,64]
%y = mm(%x, %w) : f32[64,64]
%l = mean(%y) : f32[]
phase backward
%g = ones_like(%l) : f32[] backward_temporary
%e = expand(%g) {size=[64, 64]} : f32[64,64] strides=[0, 0] alias %g
%d = mm(%x, %e) : f32[64,64] gradient
output %y
)"));
  ASSERT_EQ(graph.nodes().size(), 5U);
  EXPECT_EQ(graph.node(1).target, "mean");
  EXPECT_EQ(graph.node(1).phase, Phase::kForward);
}

TEST(ExposeSaved, MakesAMaskAResultOfItsOperator) {
  const OperatorGraph step = ParseGraph(R"(graph "mask" mode=training
%x = input f32[8]
%mask = saved bool[8]
%y = dropout(%x) {p=0.5, train=true} : f32[8]
phase backward
%g = ones_like(%y) : f32[8] backward_temporary
%gx = native_dropout_backward(%g, %mask) {scale=2} : f32[8] backward_temporary
output %y
timeline
start: +%x
0: +%y +%mask
1: +%g
2: +%gx -%g -%mask -%gx
)");
  const OperatorGraph graph = ExposeSaved(step);
  ASSERT_EQ(graph.node(0).outputs.size(), 2U);
  EXPECT_EQ(graph.value(graph.node(0).outputs[1]).name, "mask");
  EXPECT_EQ(graph.node(2).inputs[1], graph.node(0).outputs[1]);
}

}  // namespace
}  // namespace foretell::runtime
