#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/graph_io.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::pair<NodeId, NodeId>> EdgesOf(std::string_view text) {
  return ParseGraph(text).Edges();
}

TEST(Edges, FollowTensorsFromProducerToConsumer) {
  EXPECT_THAT(EdgesOf(R"(
      %x = input f32[4]
      %a = relu(%x) : f32[4]
      %b = sigmoid(%x) : f32[4]
      %c = add(%a, %b) : f32[4])"),
              ElementsAre(Pair(0, 2), Pair(1, 2)));
}

TEST(Edges, AreListedOncePerPair) {
  EXPECT_THAT(EdgesOf(R"(
      %x = input f32[4]
      %a, %i = max(%x) : f32[], i64[]
      %b = mul(%a, %a) : f32[]
      %c = index_select(%b, %i) : f32[])"),
              ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2)));
}

TEST(Edges, FollowAnInPlaceUpdate) {
  EXPECT_THAT(EdgesOf(R"(
      %x = input f32[4]
      %a = clone(%x) : f32[4]
      %b = relu_(%a) : f32[4] alias %a
      %c = neg(%b) : f32[4])"),
              ElementsAre(Pair(0, 1), Pair(1, 2)));
}

TEST(Edges, LeadFromAFilledSliceToReadersOfTheWholeBuffer) {
  EXPECT_THAT(EdgesOf(R"(
      %x = input f32[2]
      %buffer = zeros() : f32[4]
      %slice = slice(%buffer) : f32[2] alias %buffer
      %filled = copy_(%slice, %x) : f32[2] alias %slice
      %y = relu(%buffer) : f32[4])"),
              ElementsAre(Pair(0, 1), Pair(0, 3), Pair(1, 2), Pair(2, 3)));
}

TEST(Edges, DoNotLeadFromAReaderThroughAView) {
  EXPECT_THAT(EdgesOf(R"(
      %x = input f32[4]
      %v = view(%x) : f32[2,2] alias %x
      %y = relu(%x) : f32[4])"),
              IsEmpty());
}

TEST(Edges, FollowAnUpdateOfAnInput) {
  EXPECT_THAT(EdgesOf(R"(
      %x = input f32[4]
      %a = relu_(%x) : f32[4] alias %x
      %y = neg(%x) : f32[4])"),
              ElementsAre(Pair(0, 1)));
}

TEST(ForwardMacs, LeaveOutTheBackwardPass) {
  const OperatorGraph graph = ParseGraph(R"(
      %a = input f32[2,3]
      %b = input f32[3,4]
      %c = mm(%a, %b) : f32[2,4]
      phase backward
      %d = mm(%a, %b) : f32[2,4])");
  EXPECT_EQ(graph.node(1).macs, 24);
  EXPECT_EQ(graph.ForwardMacs(), 24);
}

}  // namespace
}  // namespace foretell
