#include "src/network/graph_batch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "tests/network/toy_graphs.h"

namespace foretell::learned {
namespace {

std::vector<std::int32_t> Values(const at::Tensor& tensor) {
  EXPECT_EQ(tensor.scalar_type(), at::kInt);
  const auto* data = tensor.const_data_ptr<std::int32_t>();
  return {data, data + tensor.numel()};
}

using Ids = std::vector<std::int32_t>;

TEST(GraphBatch, ListsProducersAndConsumersOfEveryNode) {
  // 0 → 1, 0 → 2, 1 → 2 and, four nodes further, 0 → 1.
  const GraphBatch batch = CollateAll(
      {CountedGraph(4, {{0, 1}, {0, 2}, {1, 2}}), CountedGraph(2, {{0, 1}})});
  EXPECT_EQ(Values(batch.incoming.begin), (Ids{0, 0, 1, 3, 3, 3, 4}));
  EXPECT_EQ(Values(batch.incoming.neighbour), (Ids{0, 0, 1, 4}));
  EXPECT_EQ(Values(batch.outgoing.begin), (Ids{0, 2, 3, 3, 3, 4, 4}));
  EXPECT_EQ(Values(batch.outgoing.neighbour), (Ids{1, 2, 2, 5}));
  EXPECT_EQ(Values(batch.graph_begin), (Ids{0, 4, 6}));
  EXPECT_EQ(batch.num_nodes(), 6);
  EXPECT_EQ(batch.num_graphs(), 2);
}

TEST(GraphBatch, NamesTheRowOfEachEdge) {
  const GraphBatch batch = CollateAll(
      {CountedGraph(4, {{0, 1}, {0, 2}, {1, 2}}), CountedGraph(2, {{0, 1}})});
  EXPECT_EQ(Values(RowOfEachEdge(batch.incoming)), (Ids{1, 2, 2, 5}));
  EXPECT_EQ(Values(RowOfEachEdge(batch.outgoing)), (Ids{0, 0, 1, 4}));
  const GraphBatch lonely = CollateAll({CountedGraph(3, {})});
  EXPECT_EQ(Values(RowOfEachEdge(lonely.incoming)), Ids{});
}

TEST(GraphBatch, HoldsTheFeaturesInTheGraphsOrder) {
  const GraphFeatures first = RandomGraph(3, 1);
  const GraphFeatures second = RandomGraph(2, 2);
  const std::vector<float> statics[] = {{1, 2}, {3, 4}};
  const GraphInput inputs[] = {{&first, statics[0]}, {&second, statics[1]}};
  const GraphBatch batch = Collate(inputs);
  ASSERT_EQ(batch.nodes.sizes(), (at::IntArrayRef{5, kNumNodeFeatures}));
  ASSERT_EQ(batch.statics.sizes(), (at::IntArrayRef{2, 2}));
  for (int slot : {0, 7, 31}) {
    EXPECT_EQ(batch.nodes[2][slot].item<float>(), first.nodes[2][slot]);
    EXPECT_EQ(batch.nodes[4][slot].item<float>(), second.nodes[1][slot]);
  }
  EXPECT_EQ(batch.statics[0][1].item<float>(), 2);
  EXPECT_EQ(batch.statics[1][0].item<float>(), 3);
}

TEST(GraphBatch, AcceptsUnsortedAndRepeatedEdges) {
  const GraphBatch batch =
      CollateAll({CountedGraph(3, {{1, 2}, {0, 2}, {1, 2}})});
  EXPECT_EQ(Values(batch.incoming.neighbour), (Ids{1, 0, 1}));
  EXPECT_EQ(Values(batch.outgoing.begin), (Ids{0, 1, 3, 3}));
}

TEST(GraphBatch, AcceptsAGraphWithoutEdgesOrStaticFeatures) {
  const GraphBatch batch = CollateAll({CountedGraph(1, {})}, 0);
  EXPECT_EQ(Values(batch.incoming.begin), (Ids{0, 0}));
  EXPECT_EQ(batch.incoming.neighbour.numel(), 0);
  EXPECT_EQ(batch.statics.sizes(), (at::IntArrayRef{1, 0}));
}

TEST(GraphBatch, MovesWholeToADevice) {
  const GraphBatch batch = CollateAll({RandomGraph(3, 1)});
  const GraphBatch moved = batch.To(at::Device("meta"));
  for (const at::Tensor& tensor :
       {moved.nodes, moved.statics, moved.graph_begin, moved.incoming.begin,
        moved.incoming.neighbour, moved.outgoing.begin,
        moved.outgoing.neighbour}) {
    EXPECT_TRUE(tensor.is_meta());
  }
  EXPECT_EQ(moved.num_nodes(), 3);
  EXPECT_EQ(moved.outgoing.neighbour.numel(), batch.outgoing.neighbour.numel());
}

// The message of the error that Collate throws; its code is checked.
std::string Refusal(const std::vector<GraphInput>& graphs) {
  try {
    Collate(graphs);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

TEST(GraphBatch, RefusesWhatIsNoBatchOfGraphs) {
  const GraphFeatures good = CountedGraph(2, {{0, 1}});
  const GraphFeatures empty;
  EXPECT_EQ(Refusal({}), "a batch of no graphs");
  EXPECT_EQ(Refusal({{&good, {}}, {nullptr, {}}}),
            "graph 1 of the batch: it has no nodes");
  EXPECT_EQ(Refusal({{&empty, {}}}), "graph 0 of the batch: it has no nodes");
  const std::vector<float> statics = {1};
  EXPECT_EQ(Refusal({{&good, statics}, {&good, {}}}),
            "graph 1 of the batch: 0 static features, but graph 0 has 1");
}

TEST(GraphBatch, RefusesEdgesThatAreNoneOfTheGraph) {
  const auto refusal = [](const Edges& edges) {
    const GraphFeatures graph = CountedGraph(2, edges);
    return Refusal({{&graph, {}}});
  };
  EXPECT_EQ(
      refusal({{0, 2}}),
      "graph 0 of the batch: edge 0 -> 2 leaves the 2 nodes of the graph");
  EXPECT_EQ(
      refusal({{-1, 1}}),
      "graph 0 of the batch: edge -1 -> 1 leaves the 2 nodes of the graph");
  EXPECT_EQ(refusal({{1, 1}}), "graph 0 of the batch: edge 1 -> 1 is a loop");
  GraphFeatures uneven = CountedGraph(2, {{0, 1}});
  uneven.targets.push_back(1);
  EXPECT_EQ(Refusal({{&uneven, {}}}),
            "graph 0 of the batch: 1 sources of edges, but 2 targets");
}

}  // namespace
}  // namespace foretell::learned
