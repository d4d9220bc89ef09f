// Pipelines: orders of passes as torch.distributed.pipelining has them, and the
// step of zoo:mlp?inputs=8&hidden=8,8,8 on two GPUs, counted by hand.

#include "src/parallel/pipeline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/graph/collective.h"
#include "src/parallel/pipeline_schedule.h"
#include "tests/graph/expect_error.h"
#include "tests/parallel/step_files.h"

namespace foretell {
namespace {

/// "F0.1": the forward pass of micro-batch 1 through stage 0.
std::string Passes(const std::string& plan, int gpu) {
  std::string text;
  for (const parallel::PipelineAction& one :
       parallel::ActionsOf(ParseParallel("plan", plan), gpu)) {
    if (!text.empty()) text += ' ';
    text += one.is_backward ? 'B' : 'F';
    text += std::to_string(one.stage) + "." + std::to_string(one.micro_batch);
  }
  return text;
}

int InFlight(const std::string& plan, int gpu) {
  return parallel::MostInFlight(
      parallel::ActionsOf(ParseParallel("plan", plan), gpu));
}

OperatorGraph MicroBatches(const std::string& plan) {
  return parallel_test::ReadStep("micro_batches").Under(plan);
}

int CountOf(const OperatorGraph& graph, std::string_view target) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.target == target ? 1 : 0;
  return count;
}

/// Bytes before the first node.
std::int64_t StandingBytes(const OperatorGraph& graph) {
  std::int64_t live = 0;
  for (const MemoryEvent& event : graph.events()) {
    if (event.node != kNone) break;
    const std::int64_t bytes = graph.storage(event.storage).bytes;
    live += event.kind == MemoryEvent::Kind::kAllocate ? bytes : -bytes;
  }
  return live;
}

/// Bytes of results of the forward pass and of gradients for other stages that
/// are alive after the last node.
std::int64_t LeftBytes(const OperatorGraph& graph) {
  std::vector<std::int64_t> live(graph.storages().size(), 0);
  for (const MemoryEvent& event : graph.events()) {
    const auto at = static_cast<std::size_t>(event.storage);
    const bool is_born = event.kind == MemoryEvent::Kind::kAllocate;
    live[at] =
        is_born && event.node != kNone ? graph.storage(event.storage).bytes : 0;
  }
  std::int64_t bytes = 0;
  for (StorageId id = 0; id < std::ssize(live); ++id) {
    const TensorRole role = graph.storage(id).role;
    if (role == TensorRole::kGradient) continue;
    bytes += live[static_cast<std::size_t>(id)];
  }
  return bytes;
}

TEST(PipelineSchedule, RunsBackwardPassesAsSoonAsTheyCanStart) {
  EXPECT_EQ(Passes("pp:2,microbatches=3", 0), "F0.0 F0.1 B0.0 F0.2 B0.1 B0.2");
  EXPECT_EQ(Passes("pp:2,microbatches=3", 1), "F1.0 B1.0 F1.1 B1.1 F1.2 B1.2");
  EXPECT_EQ(InFlight("pp:4,microbatches=8", 0), 4);
  EXPECT_EQ(InFlight("pp:4,microbatches=8", 3), 1);
  EXPECT_EQ(InFlight("pp:4,microbatches=2", 0), 2);
}

TEST(PipelineSchedule, RunsAllForwardPassesFirstInGpipe) {
  EXPECT_EQ(Passes("pp:2,schedule=gpipe,microbatches=2", 1),
            "F1.0 F1.1 B1.0 B1.1");
  EXPECT_EQ(InFlight("pp:4,schedule=gpipe,microbatches=8", 3), 8);
}

TEST(PipelineSchedule, GoesThroughTheStagesOfAGpuInRounds) {
  EXPECT_EQ(Passes("pp:2,schedule=interleaved:2,microbatches=4", 0),
            "F0.0 F0.1 F2.0 F2.1 F0.2 B2.0 F0.3 B2.1 F2.2 B0.0 F2.3 B0.1 "
            "B2.2 B2.3 B0.2 B0.3");
  ExpectError([] { Passes("pp:2,schedule=interleaved:2,microbatches=5", 0); },
              ErrorCode::kInvalidArgument,
              "5 micro-batches are not a multiple of 2");
}

TEST(Pipeline, CutsTheNetworkWhereTheArithmeticIsHalved) {
  const OperatorGraph shown = MicroBatches("pp:2,microbatches=4");
  ASSERT_EQ(shown.pipeline().size(), 2u);
  const PipelineGpu& first = shown.pipeline()[0];
  const PipelineGpu& last = shown.pipeline()[1];
  EXPECT_EQ(first.blocks, "layers.0 to layers.3");
  EXPECT_EQ(last.blocks, "layers.4 to layers.6");
  EXPECT_EQ(first.in_flight, 2);
  EXPECT_EQ(last.in_flight, 1);
  for (const PipelineGpu& one : shown.pipeline()) {
    EXPECT_EQ(CountOf(one.graph, kSend), 4);
    EXPECT_EQ(CountOf(one.graph, kReceive), 4);
    // Two layers in four micro-batches.
    EXPECT_EQ(CountOf(one.graph, "linear"), 8);
    EXPECT_EQ(CountOf(one.graph, "_foreach_add_"), 2);
  }
}

TEST(Pipeline, KeepsABufferForEachMicroBatch) {
  const OperatorGraph shown = MicroBatches("pp:2,microbatches=4");
  // Two layers of 8 x 8 + 8 and their momenta, inputs of four micro-batches of
  // 2 x 8, and gradients of as many results of 2 x 8.
  EXPECT_EQ(StandingBytes(shown.pipeline()[0].graph),
            2 * 2 * 72 * 4 + 4 * 64 + 4 * 64);
  // Layers of 8 x 8 + 8 and 10 x 8 + 10, and results of the other GPU.
  EXPECT_EQ(StandingBytes(shown.pipeline()[1].graph), 2 * 162 * 4 + 4 * 64);
}

TEST(Pipeline, LeavesNothingToTheNextStepButGradients) {
  for (const char* plan :
       {"pp:2,microbatches=4", "pp:2,schedule=gpipe,microbatches=4",
        "pp:2,schedule=interleaved:2,microbatches=4"}) {
    SCOPED_TRACE(plan);
    const OperatorGraph shown = MicroBatches(plan);
    for (const PipelineGpu& one : shown.pipeline()) {
      EXPECT_EQ(LeftBytes(one.graph), 0);
    }
  }
}

TEST(Pipeline, BeginsStagesWithTheModulesThatSplitNames) {
  const OperatorGraph shown =
      MicroBatches("pp:2,microbatches=4,split=layers.6");
  EXPECT_EQ(CountOf(shown.pipeline()[0].graph, "linear"), 12);
  EXPECT_EQ(CountOf(shown.pipeline()[1].graph, "linear"), 4);
  ExpectError([] { MicroBatches("pp:2,microbatches=4,split=layers.9"); },
              ErrorCode::kInvalidArgument, "split names 'layers.9'");
}

TEST(Pipeline, RefusesMoreStagesThanBlocks) {
  ExpectError([] { MicroBatches("pp:16,microbatches=4"); },
              ErrorCode::kInvalidArgument,
              "the network has 7 numbered modules for 16 stages");
  ExpectError([] { MicroBatches("pp:2,microbatches=3"); },
              ErrorCode::kUnsupported, "is not one of 3 micro-batches");
}

}  // namespace
}  // namespace foretell
