// Plans on the two steps of tests/golden/parallel: what is exchanged, and what
// a GPU has of it, by hand.

#include "src/parallel/parallelize.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"
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

/// Three frozen blocks with a trained matrix each that are computed again; `g2`
/// and `g1` are the gradients of what the blocks 2 and 1 read, x2 and x1.
constexpr std::string_view kAdaptedStep =
    R"(graph "held" mode=training precision=fp32 batch=2 optimizer="sgd"
%root = parameter f32[4,4]
%0.w = parameter f32[4,4]
%0.a = parameter f32[4,4]
%1.w = parameter f32[4,4]
%1.a = parameter f32[4,4]
%2.w = parameter f32[4,4]
%2.a = parameter f32[4,4]
%in = input f32[2,4]
%x0 = linear(%in, %root) : f32[2,4]
%h0 = linear(%x0, %0.w) : f32[2,4] @ "0"
%t0 = linear(%x0, %0.a) : f32[2,4] @ "0"
%x1 = add(%h0, %t0) : f32[2,4] @ "0"
%h1 = linear(%x1, %1.w) : f32[2,4] @ "1"
%t1 = linear(%x1, %1.a) : f32[2,4] @ "1"
%x2 = add(%h1, %t1) : f32[2,4] @ "1"
%h2 = linear(%x2, %2.w) : f32[2,4] @ "2"
%t2 = linear(%x2, %2.a) : f32[2,4] @ "2"
%x3 = add(%h2, %t2) : f32[2,4] @ "2"
phase backward
%g3 = ones_like(%x3) : f32[2,4]
%h2.again = linear(%x2, %2.w) : f32[2,4] @ "2"
%p2 = mm(%g3, %2.w) : f32[2,4]
%q2 = mm(%g3, %2.a) : f32[2,4]
%d2 = mm(%g3, %x2) : f32[4,4] gradient
%g2 = add_(%p2, %q2) : f32[2,4] alias %p2
%h1.again = linear(%x1, %1.w) : f32[2,4] @ "1"
%p1 = mm(%g2, %1.w) : f32[2,4]
%d1 = mm(%g2, %x1) : f32[4,4] gradient
%g1 = add_(%g2, %p1) : f32[2,4] alias %g2
%h0.again = linear(%x0, %0.w) : f32[2,4] @ "0"
%p0 = mm(%g1, %0.w) : f32[2,4]
%d0 = mm(%g1, %x0) : f32[4,4] gradient
%z = sum(%d0) : f32[]
phase optimizer
%n0, %n1, %n2 = _foreach_add_(%0.a, %1.a, %2.a, %d0, %d1, %d2) : f32[4,4] alias %0.a, f32[4,4] alias %1.a, f32[4,4] alias %2.a
output %x3
)";

OperatorGraph AdaptedStepUnder(const std::string& plan,
                               std::string_view text = kAdaptedStep) {
  const OperatorGraph graph = ParseGraph(text, "adapted");
  const Node& update =
      graph.node(static_cast<NodeId>(graph.nodes().size()) - 1);
  std::vector<parallel::TrainedParameter> trained;
  for (std::size_t i = 0; i < update.outputs.size(); ++i) {
    trained.push_back(
        {.parameter = graph.value(update.inputs[i]).storage,
         .gradient =
             graph.value(update.inputs[i + update.outputs.size()]).storage});
  }
  return parallel::Parallelize(graph, ParseParallel("plan", plan), trained);
}

TEST(Parallelize, GathersNoBlockInAdvanceWhereAdaptersAreUnits) {
  const auto gathers_before = [](const std::string& plan,
                                 const std::string& reader) {
    const OperatorGraph graph = AdaptedStepUnder(plan);
    int gathers = 0;
    for (const Node& node : graph.nodes()) {
      if (node.phase != Phase::kBackward) continue;
      if (node.target == kAllGather) ++gathers;
      if (!node.outputs.empty() &&
          graph.value(node.outputs.front()).name == reader) {
        break;
      }
    }
    return gathers;
  };
  EXPECT_EQ(gathers_before("fsdp1:2,orig-params", "p2"), 2);
  EXPECT_EQ(gathers_before("fsdp1:2", "p2"), 1);
  EXPECT_EQ(gathers_before("fsdp1:2", "p1"), 2);
}

/// Whether a block is gathered before the backward pass of the loss, whose
/// result `%g` is. The texts say what dies in which pass.
bool IsGatheredForTheLoss(const std::string& frees_at_loss,
                          const std::string& frees_later) {
  const OperatorGraph graph = ParseGraph(R"(graph "loss" mode=training batch=2
%root = parameter f32[4,4]
%0.w = parameter f32[4,4]
%in = input f32[2,4]
%x = linear(%in, %0.w) : f32[2,4] @ "0"
%y = linear(%x, %root) : f32[2,4]
%l = relu(%y) : f32[2,4]
phase backward
%g = relu(%l) : f32[2,4]
%dr = mm(%g, %x) : f32[4,4] gradient
%p = mm(%g, %root) : f32[2,4]
%d0 = mm(%p, %in) : f32[4,4] gradient
phase optimizer
%n0, %n1 = _foreach_add_(%root, %0.w, %dr, %d0) : f32[4,4] alias %root, f32[4,4] alias %0.w
output %y
timeline
start: +%root +%0.w +%in
0: +%x
1: +%y
2: +%l)" + frees_at_loss + R"(
3: +%g -%l)" + frees_later + R"(
4: +%dr
5: +%p -%g
6: +%d0 -%p -%x
7: -%dr -%d0
)",
                                         "loss");
  const Node& update =
      graph.node(static_cast<NodeId>(graph.nodes().size()) - 1);
  const auto storage_of = [&](std::size_t input) {
    return graph.value(update.inputs[input]).storage;
  };
  const OperatorGraph sharded = parallel::Parallelize(
      graph, ParseParallel("plan", "fsdp1:2"),
      std::vector<parallel::TrainedParameter>{{storage_of(0), storage_of(2)},
                                              {storage_of(1), storage_of(3)}});
  for (const Node& node : sharded.nodes()) {
    if (node.phase != Phase::kBackward) continue;
    if (node.target == kAllGather) return true;
    if (node.target == "relu") return false;
  }
  return false;
}

TEST(Parallelize, GathersABlockForTheLossThatANetworkReturns) {
  EXPECT_TRUE(IsGatheredForTheLoss(" -%y", ""));
  EXPECT_FALSE(IsGatheredForTheLoss("", " -%y"));
}

TEST(Parallelize, SharesStatesOfAFusedOptimizer) {
  const OperatorGraph graph = ParseGraph(R"(graph "fused" mode=training batch=2
%a = parameter f32[4,4]
%b = parameter f32[8,4]
%ma = optimizer_state f32[4,4]
%mb = optimizer_state f32[8,4]
%va = optimizer_state f32[4,4]
%vb = optimizer_state f32[8,4]
%ca = optimizer_state f32[]
%cb = optimizer_state f32[]
%x = input f32[2,4]
%h = linear(%x, %a) : f32[2,4]
%y = linear(%h, %b) : f32[2,8]
phase backward
%ga = mm(%h, %x) : f32[4,4] gradient
%gb = mm(%y, %h) : f32[8,4] gradient
phase optimizer
%1, %2, %3, %4, %5, %6, %7, %8 = _fused_adamw_(%a, %b, %ga, %gb, %ma, %mb, %va, %vb, %ca, %cb) : f32[4,4] alias %a, f32[8,4] alias %b, f32[4,4] alias %ga, f32[8,4] alias %gb, f32[4,4] alias %ma, f32[8,4] alias %mb, f32[4,4] alias %va, f32[8,4] alias %vb
output %y
)",
                                         "fused");
  const Node& update =
      graph.node(static_cast<NodeId>(graph.nodes().size()) - 1);
  const auto storage_of = [&](std::size_t input) {
    return graph.value(update.inputs[input]).storage;
  };
  const OperatorGraph sharded = parallel::Parallelize(
      graph, ParseParallel("plan", "fsdp:2"),
      std::vector<parallel::TrainedParameter>{{storage_of(0), storage_of(2)},
                                              {storage_of(1), storage_of(3)}});
  for (const std::size_t state : {4, 5, 6, 7}) {
    EXPECT_EQ(sharded.storage(storage_of(state)).bytes,
              graph.storage(storage_of(state)).bytes / 2);
  }
}

/// A layer whose two gradients are views of one tensor, as cuDNN's are.
constexpr std::string_view kRecurrentStep =
    R"(graph "recurrent" mode=training batch=2 optimizer="momentum"
%w = parameter f32[8,4]
%u = parameter f32[8,2]
%mw = optimizer_state f32[8,4]
%mu = optimizer_state f32[8,2]
%x = input f32[2,4]
%y = lstm(%x, %w, %u) : f32[2,2]
phase backward
%flat, %gw, %gu = _cudnn_rnn_backward(%y, %x, %w, %u) : f32[48] gradient, f32[8,4] alias %flat, f32[8,2] alias %flat
%dw = detach(%gw) : f32[8,4] alias %flat
%du = detach(%gu) : f32[8,2] alias %flat
phase optimizer
%1, %2 = _foreach_add_(%mw, %mu, %dw, %du) : f32[8,4] alias %mw, f32[8,2] alias %mu
%3, %4 = _foreach_add_(%w, %u, %1, %2) : f32[8,4] alias %w, f32[8,2] alias %u
output %y
)";

TEST(Parallelize, ShardsGradientsThatShareATensor) {
  const OperatorGraph graph = ParseGraph(kRecurrentStep, "recurrent");
  const auto storage_of = [&graph](ValueId value) {
    return graph.value(value).storage;
  };
  const Node& backward = graph.node(1);
  const StorageId gradient = storage_of(backward.outputs[0]);
  const std::vector<parallel::TrainedParameter> trained = {
      {storage_of(backward.inputs[2]), gradient},
      {storage_of(backward.inputs[3]), gradient}};
  const Node& update = graph.node(4);
  for (const char* plan : {"fsdp:2", "fsdp1:2", "zero2:2"}) {
    SCOPED_TRACE(plan);
    const OperatorGraph shard =
        parallel::Parallelize(graph, ParseParallel("plan", plan), trained);
    // Each state belongs to its own matrix.
    EXPECT_EQ(shard.storage(storage_of(update.inputs[0])).bytes, 8 * 4 * 4 / 2);
    EXPECT_EQ(shard.storage(storage_of(update.inputs[1])).bytes, 8 * 2 * 4 / 2);
    int packed = 0;
    for (const Node& node : shard.nodes()) {
      if (node.target != "_chunk_cat" && node.target != "cat") continue;
      ++packed;
      ASSERT_GE(node.inputs.size(), 2U);
      EXPECT_EQ(shard.value(node.inputs[0]).type.shape,
                (std::vector<std::int64_t>{8, 4}));
      EXPECT_EQ(shard.value(node.inputs[1]).type.shape,
                (std::vector<std::int64_t>{8, 2}));
    }
    EXPECT_EQ(packed, 1);
  }
}

/// Tensors of the blocks' inputs' size that die when the backward pass is over.
int CountHeld(const OperatorGraph& graph) {
  int held = 0;
  for (const MemoryEvent& event : graph.events()) {
    const NodeId next = event.node + 1;
    held += event.kind == MemoryEvent::Kind::kFree && event.node != kNone &&
            graph.storage(event.storage).bytes == 2 * 4 * 4 &&
            std::cmp_less(next, graph.nodes().size()) &&
            graph.node(event.node).phase == Phase::kBackward &&
            graph.node(next).phase == Phase::kOptimizer;
  }
  return held;
}

TEST(Parallelize, HoldsInputsOfFrozenBlocksInReentrantCheckpoints) {
  const OperatorGraph plain = AdaptedStepUnder("fsdp1:2");
  const OperatorGraph graph = AdaptedStepUnder("fsdp1:2,reentrant");
  EXPECT_EQ(CountHeld(plain), 0);
  // x0, x1, x2, g2 and g1, which was added up in place of g2 before.
  EXPECT_EQ(CountHeld(graph), 5);
  EXPECT_EQ(CountHeld(AdaptedStepUnder("fsdp1:2,reentrant,orig-params")), 0);
  // A block is gathered once more to be computed again.
  EXPECT_EQ(ExchangesOf(plain)[std::string(kAllGather)].count, 1 + 3 * 2);
  EXPECT_EQ(ExchangesOf(graph)[std::string(kAllGather)].count, 1 + 3 * 3);
}

// As where a block multiplies what it adds: its backward pass begins with a
// product of the gradient, which has the gradient's size.
TEST(Parallelize, HoldsOneGradientForEachInput) {
  std::string text(kAdaptedStep);
  const std::string again = "%h1.again = ", used = "mm(%g2, %1.w)";
  text.replace(text.find(used), used.size(), "mm(%m2, %1.w)");
  text.insert(text.find(again), "%m2 = mul(%g2, %g2) : f32[2,4]\n");
  EXPECT_EQ(CountHeld(AdaptedStepUnder("fsdp1:2,reentrant", text)), 5);
}

TEST(Parallelize, ReducesFrozenPartsOfOriginalParameters) {
  const std::string scatter(kReduceScatter);
  EXPECT_EQ(ExchangesOf(AdaptedStepUnder("fsdp1:2"))[scatter].bytes, 3 * 64);
  EXPECT_EQ(ExchangesOf(AdaptedStepUnder("fsdp1:2,orig-params"))[scatter].bytes,
            3 * 2 * 64);
}

TEST(Parallelize, SumsShardsOverGroups) {
  std::map<std::string, Exchanged> one =
      ExchangesOf(ReadStep("blocks").Under("fsdp:4"));
  const OperatorGraph graph = ReadStep("blocks").Under("hsdp:2x4");
  std::map<std::string, Exchanged> both = ExchangesOf(graph);
  EXPECT_EQ(both[std::string(kAllGather)].bytes,
            one[std::string(kAllGather)].bytes);
  EXPECT_EQ(both[std::string(kAllReduce)].count, 4);
  EXPECT_EQ(both[std::string(kAllReduce)].bytes,
            one[std::string(kReduceScatter)].bytes / 4);
  for (const Node& node : graph.nodes()) {
    const std::optional<Collective> exchange = CollectiveOf(node);
    if (!exchange) continue;
    EXPECT_EQ(exchange->gpus, exchange->target == kAllReduce ? 2 : 4);
    EXPECT_EQ(exchange->plan_gpus, 8);
  }
}

TEST(Parallelize, ReducesInTheTypeThatIsNamed) {
  const std::string scatter(kReduceScatter);
  for (const std::string kind : {"fsdp", "fsdp1"}) {
    std::map<std::string, Exchanged> own =
        ExchangesOf(ReadStep("blocks").Under(kind + ":4"));
    std::map<std::string, Exchanged> half =
        ExchangesOf(ReadStep("blocks").Under(kind + ":4,reduce=bf16"));
    EXPECT_EQ(half[scatter].bytes, own[scatter].bytes / 2);
    EXPECT_EQ(half[std::string(kAllGather)].bytes,
              own[std::string(kAllGather)].bytes);
  }
}

TEST(Parallelize, KeepsShardsOfHalfPrecisionInFp32) {
  std::string text(kAdaptedStep);
  for (std::size_t at = 0; (at = text.find("f32", at)) != std::string::npos;) {
    text.replace(at, 3, "bf16");
  }
  const OperatorGraph graph = ParseGraph(text, "half");
  const Node& update =
      graph.node(static_cast<NodeId>(graph.nodes().size()) - 1);
  const StorageId weight = graph.value(update.inputs[0]).storage;
  const StorageId gradient = graph.value(update.inputs[3]).storage;
  const OperatorGraph sharded = parallel::Parallelize(
      graph, ParseParallel("plan", "fsdp1:2,fp32-shards"),
      std::vector<parallel::TrainedParameter>{{weight, gradient}});
  // Only what is trained: eight of sixteen elements, and the shard in 16 bits
  // that is gathered with the block's other parameter.
  EXPECT_EQ(sharded.storage(weight).bytes, 8 * 4);
  int converted = 0;
  for (const Storage& storage : sharded.storages()) {
    if (storage.label == "converted shards of 0") {
      EXPECT_EQ(storage.bytes, 8 * 2);
      ++converted;
    }
    if (storage.label == "gradients of 0") {
      EXPECT_TRUE(storage.bytes == 8 * 2 || storage.bytes == 8 * 4);
    }
  }
  EXPECT_EQ(converted, 2);
}

std::int64_t BytesSentBy(const OperatorGraph& graph, std::string_view target,
                         Phase phase) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    if (node.target == target && node.phase == phase) {
      bytes += node.Int(kBytesAttribute, 0);
    }
  }
  return bytes;
}

/// Storages of a role that live when the graph ends.
std::int64_t BytesLeft(const OperatorGraph& graph, TensorRole role) {
  std::int64_t bytes = 0;
  for (const MemoryEvent& event : graph.events()) {
    const Storage& storage = graph.storage(event.storage);
    if (storage.role != role) continue;
    const bool is_new = event.kind == MemoryEvent::Kind::kAllocate;
    bytes += is_new ? storage.bytes : -storage.bytes;
  }
  return bytes;
}

TEST(Parallelize, KeepsShardsOnTheHost) {
  for (const std::string kind : {"fsdp", "fsdp1"}) {
    SCOPED_TRACE(kind);
    const parallel_test::RealStep step = ReadStep("mlp");
    const OperatorGraph here = step.Under(kind + ":2");
    const OperatorGraph there = step.Under(kind + ":2,cpu-offload");
    EXPECT_GE(BytesLeft(here, TensorRole::kParameter), kMlpBytes / 2);
    EXPECT_EQ(BytesLeft(there, TensorRole::kParameter), 0);
    EXPECT_EQ(BytesLeft(there, TensorRole::kGradient), 0);
    EXPECT_EQ(BytesOfRole(there, TensorRole::kOptimizerState), 0);
    // All shards once for each pass; the root's are gathered in the first.
    const std::int64_t shards = BytesSentBy(there, kFromHost, Phase::kForward);
    EXPECT_GE(shards, kMlpBytes / 2);
    EXPECT_EQ(BytesSentBy(there, kStepOnHost, Phase::kOptimizer), shards);
    EXPECT_GE(BytesSentBy(there, kToHost, Phase::kBackward), shards);
    for (const Node& node : there.nodes()) {
      if (node.phase != Phase::kOptimizer) continue;
      EXPECT_EQ(node.target, kStepOnHost);
    }
    std::map<std::string, Exchanged> exchanged = ExchangesOf(there);
    for (const auto& [target, one] : ExchangesOf(here)) {
      EXPECT_EQ(exchanged[target].bytes, one.bytes) << target;
    }
  }
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
