// States of bitsandbytes' and torchao's optimizers, in bytes counted by hand,
// for an embedding [64,128] before linear(128, 800): 8,192, 102,400 and 800
// elements, of which the last are too few for codes and those of the weight
// alone are enough to be paged.

#include "src/program/foreign_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/trace.h"
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
using testing::ElementsAre;
using testing::HasSubstr;

Trace TrainWords(Optimizer optimizer, TraceDevice device = TraceDevice::kMeta,
                 const ParallelSpec& parallel = {}) {
  const BoundInput input{"x", {DType::kI64, {4}}};
  const program_test::Network network = Simple([](Layers& l) {
    return Chain({l.Embedding(64, 128), l.Linear(128, 800)});
  });
  return TraceProgram(FakeProgram("net", {input}, network), {input},
                      {.run = {.mode = Mode::kTraining, .optimizer = optimizer},
                       .loop = {.parallel = parallel},
                       .device = device});
}

struct StateBytes {
  Optimizer optimizer;
  std::int64_t bytes;
};

class ForeignStepStates : public testing::TestWithParam<StateBytes> {};

TEST_P(ForeignStepStates, AreKeptWithoutTemporaries) {
  const OperatorGraph graph = TrainWords(GetParam().optimizer).graph;
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState), GetParam().bytes);
  EXPECT_EQ(PeakOfRole(graph, TensorRole::kOptimizerTemporary), 0);
  EXPECT_EQ(TargetsOf(graph, Phase::kOptimizer).size(), 3U);
}

// bitsandbytes: whole states of the bias and, except by AdamW8bit as such, of
// the embedding; a code per element and a scale per 256 of the weight; 256
// numbers for the codes of a kind of state. torchao: codes of the embedding
// too, 256 or 16 numbers for each state.
INSTANTIATE_TEST_SUITE_P(
    All, ForeignStepStates,
    testing::Values(
        StateBytes{Optimizer::kAdamW8bit,
                   2 * (8192 + 4 * 32 + 102400 + 4 * 400 + 4 * 800 + 1024)},
        StateBytes{Optimizer::kBnbAdamW8bit,
                   2 * (4 * 8192 + 102400 + 4 * 400 + 4 * 800 + 1024)},
        StateBytes{Optimizer::kPagedAdamW, 2 * 4 * (8192 + 800)},
        StateBytes{Optimizer::kPagedAdamW8bit,
                   2 * (4 * 8192 + 4 * 400 + 4 * 800 + 1024)},
        StateBytes{Optimizer::kBnbAdamW, 2 * 4 * (8192 + 102400 + 800)},
        StateBytes{Optimizer::kLamb, 2 * 4 * (8192 + 102400 + 800) + 3 * 4},
        StateBytes{Optimizer::kLion, 4 * (8192 + 102400 + 800)},
        StateBytes{Optimizer::kLion8bit,
                   4 * 8192 + 102400 + 4 * 400 + 4 * 800 + 1024},
        StateBytes{Optimizer::kPagedLion, 4 * (8192 + 800)},
        StateBytes{Optimizer::kPagedLion8bit,
                   4 * 8192 + 4 * 400 + 4 * 800 + 1024},
        StateBytes{Optimizer::kTorchaoAdamW8bit,
                   2 * (8192 + 4 * 32 + 1024) + 2 * (102400 + 4 * 400 + 1024) +
                       2 * 4 * 800},
        StateBytes{Optimizer::kTorchaoAdamW4bit,
                   2 * (4096 + 4 * 64 + 64) + 2 * (51200 + 4 * 800 + 64) +
                       2 * 4 * 800}),
    [](const auto& tested) {
      return std::string(OptimizerName(tested.param.optimizer));
    });

TEST(ForeignStep, UpdatesEachParameterByOneOperator) {
  EXPECT_THAT(
      TargetsOf(TrainWords(Optimizer::kBnbAdamW8bit).graph, Phase::kOptimizer),
      ElementsAre("bitsandbytes::optimizer_update_32bit",
                  "bitsandbytes::optimizer_update_8bit_blockwise",
                  "bitsandbytes::optimizer_update_32bit"));
  const OperatorGraph graph = TrainWords(Optimizer::kTorchaoAdamW8bit).graph;
  const Node& last = graph.nodes().back();
  EXPECT_EQ(last.target, "torchao::single_param_adam");
  EXPECT_EQ(last.kind, OpKind::kOptimizerUpdate);
  // The bias, its gradient and two states; all except the gradient are written.
  EXPECT_EQ(last.inputs.size(), 4U);
  EXPECT_EQ(last.outputs.size(), 3U);
}

TEST(ForeignStep, SaysHowMuchIsPaged) {
  EXPECT_THAT(TrainWords(Optimizer::kPagedAdamW).warnings,
              Contains(HasSubstr("0.8 MiB of optimizer states are paged")));
  EXPECT_THAT(TrainWords(Optimizer::kAdamW8bit).warnings,
              testing::Not(Contains(HasSubstr("paged"))));
}

// The states of the test above by halves, and the maps whole.
TEST(ForeignStep, IsSharded) {
  const ParallelSpec halves = {.kind = ParallelKind::kFsdp, .gpus = 2};
  const OperatorGraph graph =
      TrainWords(Optimizer::kTorchaoAdamW4bit, TraceDevice::kMeta, halves)
          .graph;
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState),
            (4096 + 4 * 64) + (51200 + 4 * 800) + 4 * 800 + 4 * 64);
}

TEST(ForeignStep, IsRecordedInATraceOnTheCpu) {
  EXPECT_EQ(TargetsOf(TrainWords(Optimizer::kLion8bit, TraceDevice::kCpu).graph,
                      Phase::kOptimizer)
                .size(),
            3U);
}

TEST(Muon, LeavesEmbeddingsAndVectorsToAdamW) {
  EXPECT_EQ(BytesOfRole(TrainWords(Optimizer::kMuon).graph,
                        TensorRole::kOptimizerState),
            4 * 102400 + 2 * 4 * (8192 + 800));
}

TEST(Muon, RefusesMatricesInParts) {
  ExpectError(
      [] {
        TrainWords(Optimizer::kMuon, TraceDevice::kMeta,
                   {.kind = ParallelKind::kFsdp, .gpus = 2});
      },
      ErrorCode::kInvalidArgument, "Muon multiplies whole matrices");
}

TEST(HfAdafactor, ComputesInFloats) {
  const BoundInput input{"x", {DType::kF32, {4, 16}}};
  const OperatorGraph graph =
      TraceProgram(FakeProgram("net", {input}, Simple([](Layers& l) {
                                 return l.Linear(16, 32);
                               })),
                   {input},
                   {.run = {.mode = Mode::kTraining,
                            .precision = Precision::kBf16,
                            .optimizer = Optimizer::kHfAdafactor}})
          .graph;
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState),
            4 * (32 + 16 + 32));
  // Of the weight: copies of it and its gradient, the squares and the step, the
  // rows' and columns' factors, a norm.
  EXPECT_EQ(PeakOfRole(graph, TensorRole::kOptimizerTemporary),
            4 * (4 * 512 + 32 + 16 + 1));
}

}  // namespace
}  // namespace foretell
