// Two blocks of linear and gelu, counted by hand. Tensors are f32[4,16], 256
// bytes, weights f32[16,16].

#include "src/graph/recompute_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "foretell/error.h"
#include "src/graph/block_paths.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kTensor = 4 * 16 * 4;

/// Adds operators whose results are each in a storage of their own.
class StepBuilder {
 public:
  ValueId Source(const std::string& name, TensorRole role,
                 std::vector<std::int64_t> shape) {
    const TensorType type{DType::kF32, std::move(shape)};
    return builder_.AddSource(name, type,
                              builder_.AddStorage(type.Bytes(), role));
  }
  ValueId Add(const std::string& target, std::vector<ValueId> inputs,
              const std::string& scope, Phase phase,
              TensorRole role = TensorRole::kActivation,
              std::vector<std::int64_t> shape = {4, 16}) {
    const TensorType type{DType::kF32, std::move(shape)};
    const NodeId node = builder_.AddNode({.target = target,
                                          .inputs = std::move(inputs),
                                          .scope = scope,
                                          .phase = phase});
    return builder_.AddResult(node, target + std::to_string(node), type,
                              builder_.AddStorage(type.Bytes(), role));
  }
  OperatorGraph Build() {
    builder_.DeriveLifetimes();
    return builder_.Build();
  }
  GraphBuilder& builder() { return builder_; }

 private:
  GraphBuilder builder_{GraphInfo{.name = "net", .mode = Mode::kTraining}};
};

/// Forward and backward pass; without `trains_second` nobody saves what the
/// first block hands to the second.
OperatorGraph TwoBlocks(bool trains_second = true) {
  constexpr auto kForward = Phase::kForward;
  constexpr auto kBackward = Phase::kBackward;
  constexpr auto kTemporary = TensorRole::kBackwardTemporary;
  StepBuilder step;
  const ValueId x = step.Source("x", TensorRole::kInput, {4, 16});
  const ValueId w0 = step.Source("w0", TensorRole::kParameter, {16, 16});
  const ValueId w1 = step.Source("w1", TensorRole::kParameter, {16, 16});
  const ValueId h0 = step.Add("linear", {x, w0}, "layers.0.fc", kForward);
  const ValueId a0 = step.Add("gelu", {h0}, "layers.0.act", kForward);
  const ValueId h1 = step.Add("linear", {a0, w1}, "layers.1.fc", kForward);
  const ValueId a1 = step.Add("gelu", {h1}, "layers.1.act", kForward);
  const ValueId loss = step.Add("mean", {a1}, "", kForward);
  const ValueId g1 =
      step.Add("gelu_backward", {loss, h1}, "", kBackward, kTemporary);
  const ValueId d = step.Add("mm", {g1, w1}, "", kBackward, kTemporary);
  if (trains_second) {
    step.Add("mm", {g1, a0}, "", kBackward, TensorRole::kGradient, {16, 16});
  }
  const ValueId g0 =
      step.Add("gelu_backward", {d, h0}, "", kBackward, kTemporary);
  step.Add("mm", {g0, x}, "", kBackward, TensorRole::kGradient, {16, 16});
  step.builder().MarkInput(x);
  step.builder().MarkOutput(loss);
  return step.Build();
}

/// One block, h = linear(x), a = h + x, gelu(a), of which the backward pass
/// reads a.
OperatorGraph SumBlock() {
  constexpr auto kForward = Phase::kForward;
  constexpr auto kBackward = Phase::kBackward;
  constexpr auto kTemporary = TensorRole::kBackwardTemporary;
  StepBuilder step;
  const ValueId x = step.Source("x", TensorRole::kInput, {4, 16});
  const ValueId w = step.Source("w", TensorRole::kParameter, {16, 16});
  const ValueId h = step.Add("linear", {x, w}, "layers.0.fc", kForward);
  const ValueId a = step.Add("add", {h, x}, "layers.0", kForward);
  const ValueId g = step.Add("gelu", {a}, "layers.0.act", kForward);
  const ValueId loss = step.Add("mean", {g}, "", kForward);
  const ValueId d = step.Add("div", {loss}, "", kBackward, kTemporary);
  const ValueId e =
      step.Add("gelu_backward", {d, a}, "", kBackward, kTemporary);
  step.Add("mm", {e, x}, "", kBackward, TensorRole::kGradient, {16, 16});
  step.builder().MarkInput(x);
  step.builder().MarkOutput(loss);
  return step.Build();
}

std::vector<std::string> NamesOfNodes(const OperatorGraph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.target);
  return names;
}

/// Bytes alive once each node is done, without those that lived before.
std::vector<std::int64_t> LiveBytes(const OperatorGraph& graph) {
  std::vector<std::int64_t> live(graph.nodes().size(), 0);
  for (const MemoryEvent& event : graph.events()) {
    if (event.node == kNone) continue;
    const std::int64_t bytes = graph.storage(event.storage).bytes;
    const auto begin = live.begin() + event.node;
    for (auto it = begin; it != live.end(); ++it) {
      *it += event.kind == MemoryEvent::Kind::kAllocate ? bytes : -bytes;
    }
  }
  return live;
}

TEST(RecomputeBlocks, RunsABlockAgainBeforeItsBackwardPass) {
  const OperatorGraph graph = RecomputeBlocks(TwoBlocks(), "layers.*");
  EXPECT_THAT(NamesOfNodes(graph),
              ElementsAre("linear", "gelu", "linear", "gelu", "mean",  //
                          "linear", "gelu_backward", "mm", "mm",       //
                          "linear", "gelu_backward", "mm"));
  EXPECT_EQ(graph.node(5).phase, Phase::kBackward);
  EXPECT_EQ(graph.node(5).scope, "layers.1.fc");
  // The backward operator reads the second result, not the first.
  EXPECT_EQ(graph.value(graph.node(6).inputs[1]).producer, 5);
  EXPECT_EQ(graph.value(graph.node(10).inputs[1]).producer, 9);
  EXPECT_EQ(graph.ForwardMacs(), TwoBlocks().ForwardMacs());
}

TEST(RecomputeBlocks, KeepsOfABlockWhatItWasCalledWithAlone) {
  // h0; h0 a0; .. h1; .. a1; .. loss. The backward pass drops each once it has
  // read it; gradients of weights die at once here.
  EXPECT_THAT(LiveBytes(TwoBlocks()),
              ElementsAre(1 * kTensor, 2 * kTensor, 3 * kTensor, 4 * kTensor,
                          4 * kTensor,  // a1 dies, the loss is kept
                          4 * kTensor,  // h1 becomes g1
                          5 * kTensor,
                          3 * kTensor,  // loss, d, h0
                          2 * kTensor,  // loss, g0
                          1 * kTensor));
  EXPECT_THAT(LiveBytes(RecomputeBlocks(TwoBlocks(), "layers.*")),
              ElementsAre(1 * kTensor, 1 * kTensor,  // h0 is dropped, a0 kept
                          2 * kTensor, 2 * kTensor,  // h1 is dropped
                          2 * kTensor,               // a0, loss
                          3 * kTensor,               // h1 again
                          3 * kTensor, 4 * kTensor,
                          2 * kTensor,  // loss, d
                          3 * kTensor,  // h0 again
                          2 * kTensor,  // loss, g0
                          1 * kTensor));
}

TEST(RecomputeBlocks, KeepsAnInputThatNobodySavesUntilTheBlockIsOver) {
  const OperatorGraph plain = TwoBlocks(/*trains_second=*/false);
  EXPECT_EQ(LiveBytes(plain)[2], 2 * kTensor);  // h0, h1: a0 is dead
  const OperatorGraph graph = RecomputeBlocks(plain, "layers.*");
  const std::vector<std::int64_t> live = LiveBytes(graph);
  EXPECT_EQ(live[4], 2 * kTensor);  // a0, loss
  EXPECT_EQ(live[5], 3 * kTensor);  // h1 again
  EXPECT_EQ(live[6], 2 * kTensor);  // h1 and a0 die, g1 lives
}

TEST(RecomputeBlocks, GivesOfAnEarlierStepItsMemoryAlone) {
  const OperatorGraph graph = RecomputeBlocks(
      TwoBlocks(), "layers.*", static_cast<NodeId>(TwoBlocks().nodes().size()));
  EXPECT_TRUE(graph.nodes().empty());
  // Five tensors of the forward pass, two of them again, three temporaries and
  // two gradients; all but the input, weights, loss and gradients die.
  const auto count = [&graph](MemoryEvent::Kind kind) {
    return std::ranges::count(graph.events(), kind, &MemoryEvent::kind);
  };
  EXPECT_EQ(count(MemoryEvent::Kind::kAllocate), 3 + 5 + 2 + 3 + 2);
  EXPECT_EQ(count(MemoryEvent::Kind::kFree), 4 + 2 + 3 + 2);
}

TEST(RecomputeBlocks, FindsTheBlocksOfAnUnknownNetwork) {
  EXPECT_EQ(NamesOfNodes(RecomputeBlocks(TwoBlocks(), "auto")),
            NamesOfNodes(RecomputeBlocks(TwoBlocks(), "layers.*")));
}

TEST(RecomputeBlocks, TakesSeveralPaths) {
  EXPECT_EQ(NamesOfNodes(RecomputeBlocks(TwoBlocks(), "layers.0,layers.1")),
            NamesOfNodes(RecomputeBlocks(TwoBlocks(), "layers.*")));
}

TEST(RecomputeBlocks, LeavesTheBlocksBetweenAlone) {
  const OperatorGraph second = RecomputeBlocks(TwoBlocks(), "layers.*/2");
  EXPECT_EQ(NamesOfNodes(second),
            NamesOfNodes(RecomputeBlocks(TwoBlocks(), "layers.1")));
  EXPECT_THAT(NamesOfNodes(second),
              ElementsAre("linear", "gelu", "linear", "gelu", "mean",  //
                          "linear", "gelu_backward", "mm", "mm",       //
                          "gelu_backward", "mm"));
}

TEST(RecomputeBlocks, KeepsResultsOfChosenOperators) {
  EXPECT_THAT(LiveBytes(RecomputeBlocks(SumBlock(), "layers.*")),
              ElementsAre(1 * kTensor, 1 * kTensor, 1 * kTensor,  // h, a, g
                          1 * kTensor, 2 * kTensor,  // the loss; and d
                          3 * kTensor, 3 * kTensor,  // h again, then a
                          2 * kTensor, 1 * kTensor));
  const OperatorGraph kept = RecomputeBlocks(SumBlock(), "layers.*,save=mm");
  EXPECT_THAT(NamesOfNodes(kept),
              ElementsAre("linear", "add", "gelu", "mean", "div", "add",
                          "gelu_backward", "mm"));
  EXPECT_THAT(LiveBytes(kept),
              ElementsAre(1 * kTensor, 2 * kTensor, 2 * kTensor,  // h stays
                          2 * kTensor, 3 * kTensor,
                          3 * kTensor,  // a again, of h, which dies
                          2 * kTensor, 1 * kTensor));
}

TEST(RecomputeBlocks, RunsAReentrantBlockToItsEnd) {
  const OperatorGraph graph = RecomputeBlocks(SumBlock(), "layers.*,reentrant");
  EXPECT_THAT(NamesOfNodes(graph),
              ElementsAre("linear", "add", "gelu", "mean", "div", "linear",
                          "add", "gelu", "gelu_backward", "mm"));
  const std::vector<std::int64_t> live = LiveBytes(graph);
  EXPECT_EQ(live[7], 4 * kTensor);  // loss, d, a and the result
  EXPECT_EQ(live[8], 2 * kTensor);  // loss, e
}

TEST(RecomputeBlocks, NamesAPathWhereNoBlockAnswers) {
  try {
    RecomputeBlocks(TwoBlocks(), "blocks.*");
    FAIL() << "found a block";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("'blocks.*'"));
    EXPECT_THAT(error.what(), HasSubstr("'layers.0.fc'"));
  }
}

TEST(BlockPaths, EndWithTheNumberOfTheirLevel) {
  EXPECT_EQ(BlocksOfNumber(0)("stages.0.blocks.3.fc"), "stages.0");
  EXPECT_EQ(BlocksOfNumber(1)("stages.0.blocks.3.fc"), "stages.0.blocks.3");
  EXPECT_EQ(BlocksOfNumber(2)("stages.0.blocks.3.fc"), "");
  EXPECT_EQ(BlocksOfNumber(0)("/layer1/layer1.0/conv1/Conv"),
            "/layer1/layer1.0");
  EXPECT_EQ(BlocksOfNumber(0)("stem.conv1"), "");
}

TEST(BlockPaths, MatchNamesOneByOne) {
  EXPECT_EQ(BlocksOfPath("model.layers.*")("model.layers.12.mlp.up"),
            "model.layers.12");
  EXPECT_EQ(BlocksOfPath("layers.*")("model.layers.12"), "");
  EXPECT_EQ(BlocksOfPath("layers.*")("layers"), "");
  EXPECT_EQ(BlocksOfPath("encoder")("encoder.layer.0"), "encoder");
  EXPECT_EQ(BlocksOfPath("")("encoder"), "");
}

}  // namespace
}  // namespace foretell
