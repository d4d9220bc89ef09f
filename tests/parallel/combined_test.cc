// Groups of GPUs that share layers or stages, on the steps of
// tests/golden/parallel.

#include <gtest/gtest.h>

#include <string>

#include "src/graph/collective.h"
#include "tests/parallel/step_files.h"

namespace foretell {
namespace {

using parallel_test::ReadStep;

std::int64_t StateBytes(const OperatorGraph& graph) {
  std::int64_t bytes = 0;
  for (const Storage& storage : graph.storages()) {
    if (storage.role == TensorRole::kOptimizerState) bytes += storage.bytes;
  }
  return bytes;
}

int ExchangesBy(const OperatorGraph& graph, std::string_view plan) {
  int count = 0;
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> one = CollectiveOf(node);
    count += one && one->plan == plan ? 1 : 0;
  }
  return count;
}

TEST(Combined, AveragesPartsOfLayers) {
  const OperatorGraph layers = ReadStep("blocks").Under("tp:2");
  const OperatorGraph both = ReadStep("blocks").Under("tp:2+ddp:4");
  const std::vector<CollectiveGroup> groups = GroupsOf(both);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].plan, "tp:2");
  EXPECT_EQ(groups[1].plan, "ddp:4");
  EXPECT_EQ(GpusOf(groups), 8);
  EXPECT_EQ(BatchesOf(groups), 4);
  EXPECT_EQ(BatchesOf(GroupsOf(layers)), 1);
  EXPECT_EQ(BatchesOf({{.plan = "ep:4", .gpus = 4}}), 4);
  EXPECT_EQ(
      BatchesOf({{.plan = "cp:2", .gpus = 2}, {.plan = "fsdp:4", .gpus = 8}}),
      4);
  EXPECT_EQ(ExchangesBy(both, "tp:2"), ExchangesBy(layers, "tp:2"));
  EXPECT_GT(ExchangesBy(both, "ddp:4"), 0);
  EXPECT_EQ(StateBytes(both), StateBytes(layers));
}

TEST(Combined, ShardsPartsOfLayers) {
  const OperatorGraph layers = ReadStep("blocks").Under("tp:2");
  const OperatorGraph both =
      ReadStep("blocks").Under("tp:2+fsdp:2,blocks=blocks.*");
  EXPECT_EQ(GpusOf(GroupsOf(both)), 4);
  const OperatorGraph replicas =
      ReadStep("blocks").Under("tp:2+hsdp:2x2,blocks=blocks.*");
  EXPECT_EQ(GpusOf(GroupsOf(replicas)), 8);
  EXPECT_EQ(StateBytes(replicas), StateBytes(both));
  // A row of a part with an odd number of rows, such as the head, is padded.
  EXPECT_GE(StateBytes(both), StateBytes(layers) / 2);
  EXPECT_LE(StateBytes(both), StateBytes(layers) * 0.55);
}

TEST(Combined, CutsSharedLayersIntoStages) {
  const OperatorGraph stages =
      ReadStep("piped").Under("pp:2,microbatches=4,split=blocks.2");
  const OperatorGraph both =
      ReadStep("piped").Under("pp:2,microbatches=4,split=blocks.2+tp:2");
  ASSERT_EQ(both.pipeline().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const OperatorGraph& gpu = both.pipeline()[i].graph;
    EXPECT_EQ(GpusOf(GroupsOf(gpu)), 4);
    // Two blocks in four micro-batches, each of which sums two results forward
    // and two gradients backward.
    EXPECT_EQ(ExchangesBy(gpu, "tp:2"), 2 * 4 * 4);
    EXPECT_EQ(ExchangesBy(gpu, "pp:2,microbatches=4,split=blocks.2"), 8);
    EXPECT_LT(StateBytes(gpu), 0.6 * StateBytes(stages.pipeline()[i].graph));
  }
}

TEST(Combined, AveragesGradientsOfStages) {
  const OperatorGraph shown =
      ReadStep("micro_batches").Under("pp:2,microbatches=4+ddp:2");
  ASSERT_EQ(shown.pipeline().size(), 2u);
  for (const PipelineGpu& one : shown.pipeline()) {
    // One bucket, after the last micro-batch.
    EXPECT_EQ(ExchangesBy(one.graph, "ddp:2"), 1);
    EXPECT_EQ(ExchangesBy(one.graph, "pp:2,microbatches=4"), 8);
    EXPECT_EQ(GpusOf(GroupsOf(one.graph)), 4);
  }
}

}  // namespace
}  // namespace foretell
