// A chain of eight layers that each save their operand, of 1,024 bytes, for
// their backward pass; by hand.

#include "src/parallel/offload_activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foretell/cost.h"
#include "src/cost/link.h"
#include "src/graph/collective.h"
#include "tests/cost/test_device.h"

namespace foretell {
namespace {

using testing::ElementsAre;

constexpr int kLayers = 8;
constexpr std::int64_t kBytes = 1024;

class ChainBuilder {
 public:
  ValueId Add(const std::string& target, std::vector<ValueId> inputs,
              const std::string& scope, Phase phase,
              std::int64_t elements = kBytes / 4) {
    const TensorType type{DType::kF32, {elements}};
    const NodeId node = builder_.AddNode({.target = target,
                                          .inputs = std::move(inputs),
                                          .attributes = {},
                                          .scope = scope,
                                          .phase = phase});
    return builder_.AddResult(
        node, target + std::to_string(node), type,
        builder_.AddStorage(type.Bytes(),
                            phase == Phase::kForward
                                ? TensorRole::kSaved
                                : TensorRole::kBackwardTemporary));
  }
  ValueId Source(const std::string& name, TensorRole role) {
    const TensorType type{DType::kF32, {kBytes / 4}};
    return builder_.AddSource(name, type,
                              builder_.AddStorage(type.Bytes(), role));
  }
  OperatorGraph Build(ValueId input) {
    builder_.MarkInput(input);
    builder_.DeriveLifetimes();
    return builder_.Build();
  }

 private:
  GraphBuilder builder_{GraphInfo{.name = "net", .mode = Mode::kTraining}};
};

OperatorGraph Chain(std::int64_t elements = kBytes / 4) {
  ChainBuilder chain;
  const ValueId input = chain.Source("x", TensorRole::kInput);
  std::vector<ValueId> saved;
  ValueId last = chain.Add("stem", {input}, "stem", Phase::kForward, elements);
  for (int i = 0; i < kLayers; ++i) {
    saved.push_back(last);
    last = chain.Add("gelu", {last}, "layers." + std::to_string(i),
                     Phase::kForward, elements);
  }
  ValueId gradient = chain.Add("mean", {last}, "", Phase::kForward, elements);
  for (int i = kLayers - 1; i >= 0; --i) {
    gradient = chain.Add("gelu_backward",
                         {gradient, saved[static_cast<std::size_t>(i)]}, "",
                         Phase::kBackward, elements);
  }
  return chain.Build(input);
}

std::vector<std::string> TargetsIn(const OperatorGraph& graph, Phase phase) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.phase == phase) names.push_back(node.target);
  }
  return names;
}

/// Tensors alive at the end of the forward pass, without the input.
std::int64_t AliveAfterForward(const OperatorGraph& graph) {
  std::int64_t bytes = -kBytes;
  for (const MemoryEvent& event : graph.events()) {
    if (event.node != kNone &&
        graph.node(event.node).phase == Phase::kBackward) {
      break;
    }
    const std::int64_t size = graph.storage(event.storage).bytes;
    bytes += event.kind == MemoryEvent::Kind::kAllocate ? size : -size;
  }
  return bytes / kBytes;
}

TEST(OffloadActivations, KeepsAStashAlive) {
  EXPECT_EQ(AliveAfterForward(Chain()), kLayers + 1);  // And the loss.
  // The stem's result and those of two layers left: saved five saves before.
  EXPECT_EQ(AliveAfterForward(parallel::OffloadActivations(Chain())), 5 + 1);
}

TEST(OffloadActivations, BringsBackWhatIsRead) {
  const OperatorGraph graph = parallel::OffloadActivations(Chain());
  // The first operator reads the youngest of the stash, which never leaves.
  EXPECT_THAT(
      TargetsIn(graph, Phase::kBackward),
      ElementsAre("gelu_backward", "offload::from_host", "gelu_backward",
                  "offload::from_host", "gelu_backward", "offload::from_host",
                  "gelu_backward", "offload::from_host", "gelu_backward",
                  "offload::from_host", "gelu_backward", "offload::from_host",
                  "gelu_backward", "offload::from_host", "gelu_backward"));
  const auto forward = TargetsIn(graph, Phase::kForward);
  EXPECT_EQ(std::ranges::count(forward, "offload::to_host"), kLayers - 1);
  for (const Node& node : graph.nodes()) {
    if (node.target != "gelu_backward" || node.inputs.empty()) continue;
    const NodeId producer = graph.value(node.inputs[1]).producer;
    if (producer == kNone) continue;
    EXPECT_TRUE(graph.node(producer).phase == Phase::kForward ||
                graph.node(producer).target == "offload::from_host");
  }
}

TEST(OffloadActivations, LeavesSmallTensorsAlone) {
  const OperatorGraph small = Chain(kBytes / 4 - 1);
  EXPECT_EQ(parallel::OffloadActivations(small).nodes().size(),
            small.nodes().size());
}

TEST(OffloadActivations, TakesTimeOnTheLinkToTheHost) {
  const OperatorGraph graph = parallel::OffloadActivations(Chain());
  double bytes = 0;
  for (const cost::LinkUse& use : cost::LinkUses(graph)) {
    EXPECT_EQ(use.is_of_host, use.bytes > 0);
    bytes += use.bytes;
  }
  EXPECT_EQ(bytes, 2 * (kLayers - 1) * kBytes);
  const CostEstimate cost = EstimateCost(graph, test::A100());
  EXPECT_EQ(cost.host_link.gb_s, 31.5);  // PCIe 4.0, not NVLink.
  EXPECT_NEAR(cost.host_link.busy_ms, bytes / (0.8 * 31.5e6), 1e-9);
}

}  // namespace
}  // namespace foretell
