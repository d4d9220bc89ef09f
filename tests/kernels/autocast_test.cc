#include "src/kernels/autocast.h"

#include <gtest/gtest.h>

#include <string>

namespace foretell::cost {
namespace {

AutocastRule RuleOf(const std::string& target) {
  return AutocastRuleOf({.target = target, .kind = OpKindOf(target)});
}

TEST(Autocast, MultipliesInHalfPrecision) {
  EXPECT_EQ(RuleOf("conv2d"), AutocastRule::kHalf);
  EXPECT_EQ(RuleOf("conv_transpose2d"), AutocastRule::kHalf);
  EXPECT_EQ(RuleOf("linear"), AutocastRule::kHalf);
  EXPECT_EQ(RuleOf("baddbmm"), AutocastRule::kHalf);
  EXPECT_EQ(RuleOf("einsum"), AutocastRule::kHalf);
  EXPECT_EQ(RuleOf("scaled_dot_product_attention"), AutocastRule::kHalf);
  EXPECT_EQ(RuleOf("lstm"), AutocastRule::kHalf);
}

TEST(Autocast, NormalisesAndTakesPowersInFloat) {
  EXPECT_EQ(RuleOf("layer_norm"), AutocastRule::kFloat);
  EXPECT_EQ(RuleOf("group_norm"), AutocastRule::kFloat);
  EXPECT_EQ(RuleOf("exp_"), AutocastRule::kFloat);
  EXPECT_EQ(RuleOf("pow"), AutocastRule::kFloat);
}

TEST(Autocast, LeavesNormsInHalfWhereTheRunDoes) {
  const Node group = {.target = "group_norm", .kind = OpKindOf("group_norm")};
  const Node layer = {.target = "layer_norm", .kind = OpKindOf("layer_norm")};
  const foretell::Run group_run = {.half_group_norm = true};
  EXPECT_EQ(AutocastRuleOf(group, group_run), AutocastRule::kHalf);
  EXPECT_EQ(AutocastRuleOf(layer, group_run), AutocastRule::kFloat);
  const foretell::Run layer_run = {.half_layer_norm = true};
  EXPECT_EQ(AutocastRuleOf(group, layer_run), AutocastRule::kFloat);
  EXPECT_EQ(AutocastRuleOf(layer, layer_run), AutocastRule::kHalf);
}

TEST(Autocast, TakesLossesAndDistancesInFloat) {
  EXPECT_EQ(RuleOf("mse_loss"), AutocastRule::kFloat);
  EXPECT_EQ(RuleOf("nll_loss"), AutocastRule::kFloat);
  EXPECT_EQ(RuleOf("cdist"), AutocastRule::kFloat);
  EXPECT_EQ(RuleOf("logsumexp"), AutocastRule::kFloat);
  EXPECT_EQ(RuleOf("cross_entropy_loss"), AutocastRule::kPromote);
}

TEST(Autocast, LetsReductionsConvertInside) {
  EXPECT_EQ(RuleOf("softmax"), AutocastRule::kFloatInside);
  EXPECT_EQ(RuleOf("sum"), AutocastRule::kFloatInside);
  EXPECT_EQ(RuleOf("linalg_vector_norm"), AutocastRule::kFloatInside);
}

TEST(Autocast, LeavesTheRestToTheOperands) {
  EXPECT_EQ(RuleOf("batch_norm"), AutocastRule::kAsFirst);
  EXPECT_EQ(RuleOf("max_pool2d"), AutocastRule::kAsFirst);
  EXPECT_EQ(RuleOf("mean"), AutocastRule::kPromote);
  EXPECT_EQ(RuleOf("add_"), AutocastRule::kPromote);
  EXPECT_EQ(RuleOf("relu"), AutocastRule::kPromote);
}

}  // namespace
}  // namespace foretell::cost
