// Batches of sharded steps: what each exchanges, and that nothing of it stays
// but shards of gradients.

#include "src/parallel/accumulate_shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/collective.h"
#include "tests/parallel/step_files.h"

namespace foretell {
namespace {

std::int64_t Count(const OperatorGraph& graph, std::string_view target) {
  return std::ranges::count(graph.nodes(), target, &Node::target);
}

/// Bytes that live after each event.
std::vector<std::int64_t> LiveBytes(const OperatorGraph& graph) {
  std::vector<std::int64_t> bytes = {0};
  for (const MemoryEvent& event : graph.events()) {
    const std::int64_t size = graph.storage(event.storage).bytes;
    const bool is_new = event.kind == MemoryEvent::Kind::kAllocate;
    bytes.push_back(bytes.back() + (is_new ? size : -size));
  }
  return bytes;
}

std::int64_t InPhase(const OperatorGraph& graph, Phase phase) {
  return std::ranges::count(graph.nodes(), phase, &Node::phase);
}

class ShardedBatches : public testing::TestWithParam<std::string> {};

TEST_P(ShardedBatches, ReduceEachOnItsOwn) {
  const parallel_test::RealStep step = parallel_test::ReadStep("blocks");
  const OperatorGraph one = step.Under(GetParam());
  std::int64_t shards = 0;
  for (const Storage& storage : one.storages()) {
    if (storage.label.starts_with("gradients of")) shards += storage.bytes;
  }
  for (const int batches : {2, 3, 5}) {
    SCOPED_TRACE(batches);
    const OperatorGraph many = parallel::AccumulateShards(one, batches);
    for (const std::string_view target : {kAllGather, kReduceScatter}) {
      EXPECT_EQ(Count(many, target), batches * Count(one, target));
    }
    EXPECT_EQ(InPhase(many, Phase::kForward),
              batches * InPhase(one, Phase::kForward));
    EXPECT_EQ(InPhase(many, Phase::kOptimizer),
              InPhase(one, Phase::kOptimizer));
    EXPECT_EQ(Count(many, "add_") - batches * Count(one, "add_"),
              (batches - 1) * std::ssize(step.trained));
    EXPECT_EQ(LiveBytes(many).back(), LiveBytes(one).back());
    const std::int64_t more =
        std::ranges::max(LiveBytes(many)) - std::ranges::max(LiveBytes(one));
    EXPECT_GE(more, 0);
    EXPECT_LE(more, shards);
  }
}

TEST_P(ShardedBatches, ReduceWithTheLastOneInNoSync) {
  const parallel_test::RealStep step = parallel_test::ReadStep("blocks");
  const OperatorGraph one = step.Under(GetParam());
  std::int64_t peak = 0;
  for (const int batches : {2, 3, 4, 5, 7}) {
    SCOPED_TRACE(batches);
    const OperatorGraph many = parallel::AccumulateShards(one, batches, true);
    EXPECT_EQ(Count(many, kAllGather), batches * Count(one, kAllGather));
    EXPECT_EQ(Count(many, kReduceScatter), Count(one, kReduceScatter));
    EXPECT_EQ(LiveBytes(many).back(), LiveBytes(one).back());
    const std::int64_t most = std::ranges::max(LiveBytes(many));
    if (batches > 2) EXPECT_EQ(most, peak);
    peak = most;
  }
  // More than shards of gradients: whole ones live through a forward pass.
  EXPECT_GT(peak, std::ranges::max(
                      LiveBytes(parallel::AccumulateShards(one, 3, false))));
}

INSTANTIATE_TEST_SUITE_P(Plans, ShardedBatches,
                         testing::Values("fsdp:2", "fsdp1:2", "zero2:2"));

TEST(AccumulateShards, LeavesOneBatchAlone) {
  const OperatorGraph one = parallel_test::ReadStep("mlp").Under("fsdp:2");
  EXPECT_EQ(parallel::AccumulateShards(one, 1).nodes().size(),
            one.nodes().size());
}

TEST(AccumulateShards, SendsEachBatchToTheHost) {
  const OperatorGraph one =
      parallel_test::ReadStep("mlp").Under("fsdp:2,cpu-offload");
  const OperatorGraph many = parallel::AccumulateShards(one, 4);
  EXPECT_EQ(Count(many, kToHost), 4 * Count(one, kToHost));
  EXPECT_EQ(Count(many, kStepOnHost), Count(one, kStepOnHost));
  const OperatorGraph held = parallel::AccumulateShards(one, 4, true);
  EXPECT_EQ(Count(held, kToHost), Count(one, kToHost));
}

TEST(AccumulateShards, AddsUpInTheTypeOfTheReduction) {
  const OperatorGraph one =
      parallel_test::ReadStep("mlp").Under("fsdp:2,reduce=bf16");
  const OperatorGraph many = parallel::AccumulateShards(one, 3, true);
  std::int64_t sums = 0;
  for (const Storage& storage : many.storages()) {
    if (storage.label.ends_with(".sum")) sums += storage.bytes;
  }
  std::int64_t gradients = 0;
  for (const Storage& storage : one.storages()) {
    if (storage.label.starts_with("packed")) gradients += storage.bytes;
  }
  EXPECT_EQ(sums, gradients);
}

}  // namespace
}  // namespace foretell
