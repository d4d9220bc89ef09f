#include "src/program/recorder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "foretell/trace.h"
#include "src/program/autocast.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

at::Tensor Meta(at::IntArrayRef shape) {
  return at::empty(shape, at::TensorOptions().device(at::kMeta));
}

/// A process that is prepared for recording.
class RecorderTest : public testing::Test {
 protected:
  RecorderTest() { InitializeTracing(); }
};

// The hook hangs on a dispatch key whose name says testing. Should LibTorch
// drop it or stop calling its fallback, this is the test that says so.
TEST_F(RecorderTest, TheDispatcherStillCallsTheHook) {
  InstallRecorderHook();
  Recorder recorder({}, at::kMeta);
  at::relu(Meta({2}));
  EXPECT_THAT(TargetsOf(recorder.Finish()), ElementsAre("empty", "relu"));
}

TEST_F(RecorderTest, StopsWithItsLife) {
  {
    Recorder recorder({}, at::kMeta);
    EXPECT_EQ(Recorder::Current(), &recorder);
  }
  EXPECT_EQ(Recorder::Current(), nullptr);
  at::relu(Meta({2}));  // Goes nowhere.
}

TEST_F(RecorderTest, OnlyOneIsActivePerThread) {
  Recorder recorder({}, at::kMeta);
  ExpectError([] { Recorder second({}, at::kMeta); }, ErrorCode::kInternal,
              "already active");
}

TEST_F(RecorderTest, DoesNotSeeOtherThreads) {
  Recorder recorder({}, at::kMeta);
  std::thread other([] { at::relu(Meta({2})); });
  other.join();
  EXPECT_TRUE(recorder.Finish().nodes().empty());
}

TEST_F(RecorderTest, UnrecordedScopesAllocateButMakeNoNodes) {
  Recorder recorder({}, at::kMeta);
  recorder.SetRole(TensorRole::kActivation);
  at::Tensor weight;
  {
    const UnrecordedScope unrecorded(TensorRole::kParameter);
    weight = Meta({16});
  }
  EXPECT_EQ(recorder.role(), TensorRole::kActivation);
  recorder.AddSource("w", weight);
  const OperatorGraph graph = recorder.Finish();
  EXPECT_TRUE(graph.nodes().empty());
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kParameter), 64);
}

TEST_F(RecorderTest, UnrecordedScopesWorkWithoutARecorder) {
  const UnrecordedScope unrecorded(TensorRole::kParameter);
  EXPECT_EQ(Recorder::Current(), nullptr);
}

TEST_F(RecorderTest, RedirectsDevicesOnlyWhenTold) {
  const auto on_cpu = at::TensorOptions().device(at::kCPU);
  Recorder recorder({}, at::kMeta);
  EXPECT_TRUE(at::zeros({2}, on_cpu).is_cpu());
  recorder.RedirectDevices(true);
  EXPECT_TRUE(at::zeros({2}, on_cpu).is_meta());
}

TEST_F(RecorderTest, ChangesTheRoleOfTheLiving) {
  Recorder recorder({}, at::kMeta);
  recorder.SetRole(TensorRole::kActivation);
  const at::Tensor kept = Meta({4});
  Meta({8});  // Dies at once.
  recorder.ChangeRoleOfLiving(TensorRole::kActivation, TensorRole::kSaved);
  const OperatorGraph graph = recorder.Finish();
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kSaved), 16);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kActivation), 32);
}

TEST_F(RecorderTest, WarmUpMakesEventsButNoNodes) {
  Recorder recorder({}, at::kMeta);
  recorder.RecordNodes(false);
  Meta({4});
  recorder.RecordNodes(true);
  Meta({8});
  const OperatorGraph graph = recorder.Finish();
  ASSERT_EQ(graph.nodes().size(), 1u);
  ASSERT_EQ(graph.events().size(), 4u);
  EXPECT_EQ(graph.events()[0].node, kNone);
  EXPECT_EQ(graph.events()[1].node, kNone);
  EXPECT_EQ(graph.events()[2].node, 0);
  EXPECT_EQ(graph.events()[3].node, 0);
}

/// Targets of the calls inside of the last node.
std::vector<std::string> CallsOfLast(const OperatorGraph& graph) {
  std::vector<std::string> targets;
  for (const Node& call : graph.nodes().back().calls) {
    targets.push_back(call.target);
  }
  return targets;
}

TEST_F(RecorderTest, AnOperatorOfOthersListsTheCallsThatItMakes) {
  Recorder recorder({}, at::kMeta);
  const at::Tensor x = Meta({4, 6});
  at::cosine_embedding_loss(x, x, Meta({4}));
  const OperatorGraph graph = recorder.Finish();
  EXPECT_THAT(TargetsOf(graph),
              ElementsAre("empty", "empty", "cosine_embedding_loss"));
  EXPECT_THAT(
      CallsOfLast(graph),
      ElementsAre("mul", "sum", "mul", "sum", "add", "mul", "sum", "add", "mul",
                  "sqrt_", "div", "zero_", "fill_", "sub_", "sub", "clamp_min_",
                  "eq", "where", "eq", "where", "add", "mean"));
  const Node& node = graph.nodes().back();
  EXPECT_EQ(node.calls.back().outputs, node.outputs);
  EXPECT_EQ(node.calls.front().inputs,
            (std::vector<ValueId>{node.inputs[0], node.inputs[0]}));
  for (const Node& call : node.calls) {
    EXPECT_EQ(graph.value(call.outputs.front()).producer, 2) << call.target;
  }
}

TEST_F(RecorderTest, AnOperatorThatOnlyViewsListsNone) {
  Recorder recorder({}, at::kMeta);
  at::einsum("ij->ji", {Meta({4, 6})});
  EXPECT_THAT(CallsOfLast(recorder.Finish()), IsEmpty());
}

TEST_F(RecorderTest, OperatorsWithAKernelOfTheirOwnListNone) {
  Recorder recorder({}, at::kMeta);
  at::conv2d(Meta({2, 4, 6, 6}), Meta({4, 4, 3, 3}));
  EXPECT_THAT(CallsOfLast(recorder.Finish()), IsEmpty());
}

TEST_F(RecorderTest, AConvolutionListsThePadThatAWordAsksFor) {
  Recorder recorder({}, at::kMeta);
  const at::Tensor x = Meta({2, 4, 6, 6});
  at::conv2d(x, Meta({4, 4, 2, 2}), {}, 1, "same");
  const OperatorGraph graph = recorder.Finish();
  EXPECT_THAT(CallsOfLast(graph),
              ElementsAre("fill_", "narrow", "narrow", "copy_", "convolution"));
  EXPECT_EQ(graph.nodes().back().calls.back().macs, graph.nodes().back().macs);
}

TEST_F(RecorderTest, CallsInsideCastUnderAutocast) {
  Recorder recorder({}, at::kMeta);
  const AutocastRegion region(c10::DeviceType::Meta, {at::kHalf});
  at::matrix_power(Meta({4, 4}), 2);
  const OperatorGraph graph = recorder.Finish();
  std::vector<std::string> kernels;
  for (const Node& call : graph.nodes().back().calls) {
    if (call.kind == OpKind::kView) continue;
    kernels.push_back(call.target);
    EXPECT_EQ(graph.value(call.outputs.front()).type.dtype, DType::kF16);
    EXPECT_EQ(call.FindAttribute(kAutocastAttribute) != nullptr,
              call.target == "_to_copy");
  }
  EXPECT_THAT(kernels, ElementsAre("_to_copy", "_to_copy", "mm"));
}

TEST_F(RecorderTest, AfterAFailureInsideTheNextOperatorIsWhole) {
  Recorder recorder({}, at::kMeta);
  const at::Tensor x = Meta({4, 6});
  EXPECT_ANY_THROW(at::cosine_similarity(x, Meta({5, 7})));
  EXPECT_FALSE(recorder.is_inside());
  at::relu(x);
  EXPECT_THAT(CallsOfLast(recorder.Finish()), IsEmpty());
}

// Kernels of `out=` resize an empty result: no allocator is asked on meta, and
// CUDA's is.
TEST_F(RecorderTest, AResultThatWasResizedHasItsBytes) {
  Recorder recorder({}, at::kMeta);
  recorder.SetRole(TensorRole::kActivation);
  const at::Tensor x = Meta({4, 6});
  const at::Tensor size = at::abs(x);
  const at::Tensor sum = at::logsumexp(x, {1});
  const OperatorGraph graph = recorder.Finish();
  for (const Node& node : graph.nodes()) {
    const Value& result = graph.value(node.outputs.front());
    EXPECT_EQ(graph.storage(result.storage).bytes, result.type.Bytes())
        << node.target;
  }
}

TEST_F(RecorderTest, ResizedResultsCountInTheWarmUpToo) {
  Recorder recorder({}, at::kMeta);
  recorder.RecordNodes(false);
  const at::Tensor size = at::abs(Meta({4, 6}));
  const OperatorGraph graph = recorder.Finish();
  ASSERT_EQ(graph.storages().size(), 2u);
  EXPECT_EQ(graph.storage(1).bytes, 4 * 6 * 4);
}

// mlp(x) with x = relu(…): alive until mlp returns, though only its first layer
// reads it; the layers let go of theirs one by one.
TEST_F(RecorderTest, WhatAModuleIsCalledWithLivesUntilItReturns) {
  Recorder recorder({}, at::kMeta);
  std::vector<std::string> calls;
  recorder.SetCalls([&calls] { return calls; });
  at::Tensor x = at::relu(Meta({2}));  // Nodes 0 and 1.
  calls = {"mlp", "mlp.0"};
  x = at::tanh(x);
  calls = {"mlp", "mlp.1"};
  x = at::exp(x);
  x = at::cos(x);
  calls = {};
  x = at::sin(x);
  recorder.ReturnFromCalls();
  const OperatorGraph graph = recorder.Finish();
  const auto death_of = [&graph](NodeId node) {
    return DeathOf(graph, graph.node(node).outputs.front());
  };
  EXPECT_EQ(death_of(1), 4);  // mlp's argument, at its end.
  EXPECT_EQ(death_of(2), 4);  // That of its last layer.
  EXPECT_EQ(death_of(3), 4);  // Made and read in the last layer: by its reader.
  EXPECT_EQ(death_of(4), 5);  // The result, by who reads it.
}

TEST_F(RecorderTest, TheBackwardPassHoldsNothing) {
  Recorder recorder({}, at::kMeta);
  recorder.SetCalls([] { return std::vector<std::string>{"mlp"}; });
  recorder.SetPhase(Phase::kBackward);
  at::Tensor x = at::relu(Meta({2}));
  x = at::tanh(x);
  x = at::exp(x);
  const OperatorGraph graph = recorder.Finish();
  EXPECT_EQ(DeathOf(graph, graph.node(1).outputs.front()), 2);
}

TEST_F(RecorderTest, RemembersTheFirstFailure) {
  Recorder recorder({}, at::kMeta);
  EXPECT_NO_THROW(recorder.RethrowFailure());
  EXPECT_THROW(at::nonzero(Meta({2})), Error);
  ExpectError([&] { recorder.RethrowFailure(); }, ErrorCode::kUnsupported,
              "aten::nonzero");
}

TEST_F(RecorderTest, OnTheCpuShapeArithmeticStaysOut) {
  Recorder recorder({}, at::kCPU);
  at::Tensor x;
  {
    const UnrecordedScope unrecorded(TensorRole::kInput);
    x = at::ones({2, 3});
  }
  recorder.AddSource("x", x);
  const at::Tensor sizes = at::mul(at::arange(4), 2);
  at::relu(x.view({3, 2}));
  EXPECT_THAT(TargetsOf(recorder.Finish()), ElementsAre("view", "relu"));
}

/// Calls inside of a recurrent layer of 200 units, recorded on `device`.
std::vector<std::string> CallsOfAGru(c10::DeviceType device) {
  const auto options = at::TensorOptions().device(device);
  const auto make = [&](at::IntArrayRef shape) {
    return at::zeros(shape, options);
  };
  const at::Tensor input = make({3, 2, 5});
  const at::Tensor state = make({1, 2, 200});
  const std::vector<at::Tensor> weights = {make({600, 5}), make({600, 200})};
  Recorder recorder({}, device);
  recorder.AddSource("input", input);
  at::gru(input, state, weights, false, 1, 0, false, false, false);
  std::vector<std::string> targets;
  const OperatorGraph graph = recorder.Finish();
  for (const Node& call : graph.nodes().back().calls) {
    targets.push_back(call.target);
  }
  return targets;
}

// The CPU's kernels are not those of a GPU.
TEST_F(RecorderTest, ListsTheStepsOfARecurrentLayerOnMetaAlone) {
  EXPECT_THAT(CallsOfAGru(at::kMeta),
              ElementsAre("linear", "linear", "_thnn_fused_gru_cell"));
  EXPECT_THAT(CallsOfAGru(at::kCPU), IsEmpty());
}

}  // namespace
}  // namespace foretell
