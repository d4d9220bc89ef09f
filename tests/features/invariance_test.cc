#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/features.h"
#include "foretell/graph_io.h"

namespace foretell {
namespace {

GraphFeatures Extract(const char* text) {
  return ExtractFeatures(ParseGraph(text));
}

constexpr char kTwoBranches[] = R"(
  graph "one" batch=2
  %x = input f32[2,8,6,6]
  %w = parameter f32[4,8,3,3]
  %left = conv2d(%x, %w) {padding=[1,1]} : f32[2,4,6,6] @ "left"
  %right = relu(%x) : f32[2,8,6,6] @ "right"
  %both = cat(%left, %right) {dim=1} : f32[2,12,6,6]
  output %both)";

constexpr char kRenamed[] = R"(
  graph "another" batch=2
  %input.1 = input f32[2,8,6,6]
  %7 = parameter f32[4,8,3,3]
  %1 = conv2d(%input.1, %7) {padding=[1,1]} : f32[2,4,6,6]
  %2 = relu(%input.1) : f32[2,8,6,6] @ "module"
  %3 = cat(%1, %2) {dim=1} : f32[2,12,6,6]
  output %3)";

constexpr char kReordered[] = R"(
  graph "one" batch=2
  %x = input f32[2,8,6,6]
  %w = parameter f32[4,8,3,3]
  %right = relu(%x) : f32[2,8,6,6] @ "right"
  %left = conv2d(%x, %w) {padding=[1,1]} : f32[2,4,6,6] @ "left"
  %both = cat(%left, %right) {dim=1} : f32[2,12,6,6]
  output %both)";

TEST(GraphFeatures, DoNotDependOnNamesAndScopes) {
  const GraphFeatures one = Extract(kTwoBranches);
  const GraphFeatures other = Extract(kRenamed);
  EXPECT_EQ(one.nodes, other.nodes);
  EXPECT_EQ(one.sources, other.sources);
  EXPECT_EQ(one.targets, other.targets);
  EXPECT_EQ(one.statics, other.statics);
}

TEST(GraphFeatures, PermuteTheirRowsWithIndependentBranches) {
  const GraphFeatures one = Extract(kTwoBranches);
  const GraphFeatures other = Extract(kReordered);
  EXPECT_EQ(one.statics, other.statics);
  EXPECT_EQ(one.nodes[0], other.nodes[1]);
  EXPECT_EQ(one.nodes[1], other.nodes[0]);
  EXPECT_EQ(one.nodes[2], other.nodes[2]);
  EXPECT_NE(one.nodes[0], one.nodes[1]);
}

TEST(GraphFeatures, ListEdgesAsPairsOfNodes) {
  const GraphFeatures features = Extract(kTwoBranches);
  EXPECT_THAT(features.sources, testing::ElementsAre(0, 1));
  EXPECT_THAT(features.targets, testing::ElementsAre(2, 2));
}

TEST(GraphFeatures, FollowTheBatch) {
  const GraphFeatures small = Extract(R"(
    graph batch=1
    %y = relu(input f32[1,8]) : f32[1,8])");
  const GraphFeatures large = Extract(R"(
    graph batch=64
    %y = relu(input f32[64,8]) : f32[64,8])");
  EXPECT_EQ(small.statics.batch, 1);
  EXPECT_EQ(large.statics.batch, 64);
  EXPECT_NE(small.nodes, large.nodes);
}

TEST(GraphFeatures, OfAnEmptyGraphAreEmpty) {
  const GraphFeatures features = Extract("");
  EXPECT_TRUE(features.nodes.empty());
  EXPECT_TRUE(features.sources.empty());
  EXPECT_EQ(features.statics.macs, 0);
}

}  // namespace
}  // namespace foretell
