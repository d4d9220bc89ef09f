// Plans on the two steps of tests/golden/parallel: what is exchanged, and what
// a GPU has of it, by hand.

#include "src/parallel/parallelize.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "foretell/error.h"
#include "src/graph/collective.h"
#include "tests/parallel/step_files.h"

namespace foretell {
namespace {

using parallel_test::ReadStep;

struct Exchanged {
  int count = 0;
  std::int64_t bytes = 0;
};

std::map<std::string, Exchanged> ExchangesOf(const OperatorGraph& graph) {
  std::map<std::string, Exchanged> found;
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> one = CollectiveOf(node);
    if (!one) continue;
    Exchanged& exchanged = found[std::string(one->target)];
    ++exchanged.count;
    exchanged.bytes += one->bytes;
  }
  return found;
}

std::int64_t BytesOfRole(const OperatorGraph& graph, TensorRole role) {
  std::int64_t bytes = 0;
  for (const Storage& storage : graph.storages()) {
    if (storage.role == role) bytes += storage.bytes;
  }
  return bytes;
}

// 4 x (512 x 1024 + 2 x 1024 x 1024 + 3 x 3 x 1024 + 10 x 1024 + 10).
constexpr std::int64_t kMlpBytes = 10'563'624;

TEST(Parallelize, LeavesOneGpuAlone) {
  const parallel_test::RealStep step = ReadStep("mlp");
  const OperatorGraph graph = step.Under("");
  EXPECT_EQ(graph.nodes().size(), step.graph.nodes().size());
  EXPECT_TRUE(ExchangesOf(graph).empty());
}

TEST(Parallelize, AveragesGradientsInBuckets) {
  std::map<std::string, Exchanged> found =
      ExchangesOf(ReadStep("mlp").Under("ddp:8"));
  // The head and the last hidden layer exceed 1 MiB; the rest is below 25 MiB.
  EXPECT_EQ(found[std::string(kAllReduce)].count, 2);
  EXPECT_EQ(found[std::string(kAllReduce)].bytes, kMlpBytes);
  // Means and variances of three norms in one piece, their counters in another.
  EXPECT_EQ(found[std::string(kBroadcast)].count, 2);
  EXPECT_EQ(found[std::string(kBroadcast)].bytes, 6 * 1024 * 4 + 3 * 8);
}

TEST(Parallelize, SendsParametersAfterTheirOwnersStep) {
  const OperatorGraph plain = ReadStep("mlp").Under("ddp:2");
  const OperatorGraph graph = ReadStep("mlp").Under("zero1:2");
  std::map<std::string, Exchanged> found = ExchangesOf(graph);
  EXPECT_EQ(found[std::string(kBroadcast)].count, 2 + 14);
  EXPECT_LT(BytesOfRole(graph, TensorRole::kOptimizerState),
            BytesOfRole(plain, TensorRole::kOptimizerState));
}

TEST(Parallelize, GathersTwiceUnlessParametersStay) {
  const auto exchanges = [](const std::string& plan) {
    return ExchangesOf(ReadStep("blocks").Under(plan));
  };
  // Three blocks and the root, which keeps its parameters.
  EXPECT_EQ(exchanges("fsdp:4")[std::string(kAllGather)].count, 7);
  EXPECT_EQ(exchanges("zero2:4")[std::string(kAllGather)].count, 4);
  EXPECT_EQ(exchanges("fsdp:4")[std::string(kReduceScatter)].count, 4);
}

TEST(Parallelize, GathersOneFlatParameterPerBlockInFsdp1) {
  const auto under = [](const std::string& plan) {
    return ReadStep("mlp").Under(plan + ",blocks=layers.*");
  };
  std::map<std::string, Exchanged> found = ExchangesOf(under("fsdp1:8"));
  EXPECT_EQ(found[std::string(kReduceScatter)].count, 7);
  // The head's 10,250 elements are padded to 10,256; all others are divisible.
  EXPECT_EQ(found[std::string(kReduceScatter)].bytes, kMlpBytes + 6 * 4);
  EXPECT_EQ(found[std::string(kAllGather)].count,
            ExchangesOf(under("fsdp:8"))[std::string(kAllGather)].count);
  // Two GPUs pad nothing: what is left is the copies of what was gathered.
  const OperatorGraph flat = under("fsdp1:2");
  EXPECT_EQ(BytesOfRole(under("fsdp:2"), TensorRole::kParameter) -
                BytesOfRole(flat, TensorRole::kParameter),
            ExchangesOf(flat)[std::string(kAllGather)].bytes);
}

TEST(Parallelize, FreesFlatGradientsOnceTheyAreScattered) {
  const OperatorGraph graph = ReadStep("blocks").Under("fsdp1:4");
  int freed = 0;
  for (const MemoryEvent& event : graph.events()) {
    const std::string& label = graph.storage(event.storage).label;
    if (event.kind != MemoryEvent::Kind::kFree ||
        !label.starts_with("packed gradients")) {
      continue;
    }
    ++freed;
    EXPECT_EQ(graph.node(event.node).target, kReduceScatter);
  }
  EXPECT_EQ(freed, 4);  // Three blocks and the root.
}

TEST(Parallelize, WrapsTheBlocksThatAreNamed) {
  EXPECT_EQ(ExchangesOf(ReadStep("mlp").Under(
                "fsdp:2,blocks=layers.*"))[std::string(kReduceScatter)]
                .count,
            7);
  try {
    ReadStep("mlp").Under("fsdp:2,blocks=encoder.*");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "fsdp:2,blocks=encoder.*: no block 'encoder.*' has a "
                 "parameter");
  }
}

TEST(Parallelize, RefusesAStepThatTrainsNothing) {
  const parallel_test::RealStep step = ReadStep("mlp");
  EXPECT_THROW(
      parallel::Parallelize(step.graph, ParseParallel("plan", "ddp:2"), {}),
      Error);
}

}  // namespace
}  // namespace foretell
