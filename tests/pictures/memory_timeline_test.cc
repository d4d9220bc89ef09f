#include "src/pictures/memory_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "src/pictures/module_names.h"
#include "tests/pictures/toy_step.h"

namespace foretell::pictures {
namespace {

std::int64_t Live(const MemoryMoment& moment) {
  return std::accumulate(moment.by_role.begin(), moment.by_role.end(),
                         std::int64_t{0});
}

MemoryTimeline TimelineOf(const OperatorGraph& graph,
                          const TimelineLimits& limits = {}) {
  return MakeTimeline(graph, PredictToy(graph).memory, limits);
}

TEST(MakeTimeline, LooksWhereMostIsAlive) {
  const MemoryTimeline timeline = TimelineOf(ToyGraph());
  ASSERT_EQ(timeline.moments.size(), 3U);
  // %x and %w stay; %a is freed once relu has run, while gelu runs %b and %c.
  EXPECT_EQ(Live(timeline.moments[0]), 2 * kMapBytes + kWeightBytes);
  EXPECT_EQ(Live(timeline.moments[1]), 3 * kMapBytes + kWeightBytes);
  EXPECT_EQ(Live(timeline.moments[2]), 3 * kMapBytes + kWeightBytes);
  EXPECT_EQ(timeline.moments[1].node, 1);
}

TEST(MakeTimeline, SaysWhenTensorsAreAlive) {
  const MemoryTimeline timeline = TimelineOf(ToyGraph());
  ASSERT_EQ(timeline.tensors.size(), 5U);
  const ShownTensor& a = timeline.tensors[2];
  EXPECT_EQ(a.storage, 2);
  EXPECT_EQ(a.first, 0U);
  EXPECT_EQ(a.last, 1U);
  EXPECT_EQ(timeline.tensors[0].last, 2U);
}

TEST(MakeTimeline, ShowsAtEveryMomentWhatIsAliveThere) {
  const OperatorGraph graph = ToyGraph();
  const MemoryTimeline timeline = TimelineOf(graph);
  for (std::size_t i = 0; i < timeline.moments.size(); ++i) {
    std::int64_t bytes = 0;
    for (const ShownTensor& tensor : timeline.tensors) {
      const bool alive = tensor.first <= i && i <= tensor.last;
      if (alive) bytes += graph.storage(tensor.storage).bytes;
    }
    EXPECT_EQ(bytes, Live(timeline.moments[i])) << i;
  }
}

TEST(MakeTimeline, PutsOperatorsInARowTogether) {
  const MemoryTimeline timeline = TimelineOf(ToyGraph(), {.moments = 2});
  ASSERT_EQ(timeline.moments.size(), 2U);
  EXPECT_EQ(timeline.moments[0].node, 1);
  EXPECT_EQ(timeline.moments[0].first, 0);
  EXPECT_EQ(timeline.moments[1].first, 2);
}

TEST(MakeTimeline, LeavesTheSmallestTensorsOut) {
  const MemoryTimeline timeline = TimelineOf(ToyGraph(), {.tensors = 4});
  ASSERT_EQ(timeline.tensors.size(), 4U);
  for (const ShownTensor& tensor : timeline.tensors) {
    EXPECT_NE(tensor.storage, 1);  // The weight.
  }
}

TEST(MakeTimeline, IsEmptyWithoutOperators) {
  const OperatorGraph graph = ParseGraph("graph \"none\"\n");
  EXPECT_TRUE(TimelineOf(graph).moments.empty());
}

TEST(TimelineToJson, HasColumnsOfEqualLength) {
  const OperatorGraph graph = ToyGraph();
  const auto json =
      TimelineToJson(graph, TimelineOf(graph),
                     ModulesOfStorages(graph, ModulesOfNodes(graph)));
  EXPECT_EQ(json["operators"], 3);
  EXPECT_EQ(json["moments"]["name"].dump(), R"(["conv2d","relu","gelu"])");
  EXPECT_EQ(json["moments"]["by_role"]["parameter"].size(), 3U);
  EXPECT_FALSE(json["moments"]["by_role"].contains("gradient"));
  EXPECT_EQ(json["tensors"]["mib"][0], 6.125);
  EXPECT_EQ(json["tensors"]["module"][3], "blocks.0");
  EXPECT_EQ(json["tensors"]["type"][2], "f32[8,64,56,56]");
}

}  // namespace
}  // namespace foretell::pictures
