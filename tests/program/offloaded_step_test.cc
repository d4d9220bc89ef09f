// An embedding [64,128] before linear(128, 800): 8,192, 102,400 and 800
// elements, of which the last stay on the GPU.

#include "src/program/offloaded_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "foretell/trace.h"
#include "src/graph/collective.h"
#include "tests/graph/expect_error.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::Chain;
using program_test::FakeProgram;
using program_test::Layers;
using program_test::Simple;
using testing::Contains;
using testing::HasSubstr;

Trace TrainOnHost(const TrainingLoop& loop,
                  Optimizer optimizer = Optimizer::kAdam) {
  const BoundInput input{"x", {DType::kI64, {4}}};
  const program_test::Network network = Simple([](Layers& l) {
    return Chain({l.Embedding(64, 128), l.Linear(128, 800)});
  });
  return TraceProgram(
      FakeProgram("net", {input}, network), {input},
      {.run = {.mode = Mode::kTraining, .optimizer = optimizer}, .loop = loop});
}

TEST(OffloadedStep, LeavesStatesOfSmallParametersOnTheGpu) {
  const Trace trace = TrainOnHost({.offload_optimizer = "states"});
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kOptimizerState), 2 * 4 * 800);
  EXPECT_EQ(PeakOfRole(trace.graph, TensorRole::kGradient),
            4 * (8192 + 102400 + 800));
  const auto backward = TargetsOf(trace.graph, Phase::kBackward);
  EXPECT_EQ(std::ranges::count(backward, kToHost), 2);
  const auto steps = TargetsOf(trace.graph, Phase::kOptimizer);
  EXPECT_EQ(std::ranges::count(steps, kStepOnHost), 2);
  // A parameter, a gradient and two states: 16 bytes for 110,592 elements.
  EXPECT_THAT(trace.warnings, Contains(HasSubstr("memory for 1.7 MiB of")));
}

TEST(OffloadedStep, DropsGradientsThatWereSent) {
  const Trace trace = TrainOnHost({.offload_optimizer = "gradients"});
  EXPECT_EQ(PeakOfRole(trace.graph, TensorRole::kGradient), 4 * (102400 + 800));
}

TEST(OffloadedStep, RefusesWhatItCannotRun) {
  ExpectError([] { TrainOnHost({.offload_optimizer = "all"}); },
              ErrorCode::kInvalidArgument,
              "'all', expected states or gradients");
  ExpectError(
      [] {
        TrainOnHost({.offload_optimizer = "gradients", .accumulation = 2});
      },
      ErrorCode::kInvalidArgument, "without accumulation");
  ExpectError(
      [] {
        TrainOnHost({.offload_optimizer = "states"}, Optimizer::kAdamW8bit);
      },
      ErrorCode::kInvalidArgument, "optimizer adamw8bit");
}

TEST(OffloadedStep, IsAloneOnItsGpu) {
  ExpectError(
      [] {
        TrainOnHost({.offload_activations = true,
                     .parallel = {.kind = ParallelKind::kDdp, .gpus = 2}});
      },
      ErrorCode::kInvalidArgument, "on one GPU");
}

}  // namespace
}  // namespace foretell
