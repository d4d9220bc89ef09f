#include "src/program/recorder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "foretell/trace.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using testing::ElementsAre;

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

}  // namespace
}  // namespace foretell
