// What a training step takes where its loop is not PyTorch's default, in bytes
// counted by hand. The network is that of trace_training_test.cc: linear(16,
// 32), relu, linear(32, 8) on [4,16], with weights of 2048, 128, 1024 and 32
// bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "foretell/error.h"
#include "foretell/trace.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::Chain;
using program_test::FakeProgram;
using program_test::Layers;
using program_test::Simple;
using testing::HasSubstr;
using testing::IsSupersetOf;

constexpr std::int64_t kAllWeights = 2048 + 128 + 1024 + 32;

OperatorGraph TrainInLoop(const TrainingLoop& loop,
                          Optimizer optimizer = Optimizer::kSgd,
                          TorchVersion torch = {}) {
  const BoundInput input{"x", {DType::kF32, {4, 16}}};
  const program_test::Network network = Simple([](Layers& l) {
    return Chain({l.Linear(16, 32),
                  [](const at::Tensor& x) { return at::relu(x); },
                  l.Linear(32, 8)});
  });
  return TraceProgram(FakeProgram("net", {input}, network), {input},
                      {.run = {.mode = Mode::kTraining,
                               .optimizer = optimizer,
                               .torch = torch},
                       .loop = loop})
      .graph;
}

/// x [4,16] times a weight [16,32], with adapters of rank 2.
OperatorGraph TrainProduct(at::Tensor (*product)(const at::Tensor&,
                                                 const at::Tensor&)) {
  const BoundInput input{"x", {DType::kF32, {4, 16}}};
  const program_test::Network network = Simple([product](Layers& l) {
    const at::Tensor weight = l.weights().Parameter("weight", {16, 32});
    return
        [product, weight](const at::Tensor& x) { return product(x, weight); };
  });
  return TraceProgram(FakeProgram("net", {input}, network), {input},
                      {.run = {.mode = Mode::kTraining},
                       .loop = {.lora = {.rank = 2, .targets = "weight"}}})
      .graph;
}

std::int64_t CountIn(const OperatorGraph& graph, Phase phase,
                     const std::string& target) {
  const std::vector<std::string> targets = TargetsOf(graph, phase);
  return std::count(targets.begin(), targets.end(), target);
}

struct TemporaryBytes {
  Optimizer optimizer;
  std::int64_t of_lists;    ///< Peak with foreach.
  std::int64_t one_by_one;  ///< Peak without.
};

class TrainingLoopForeach : public testing::TestWithParam<TemporaryBytes> {};

TEST_P(TrainingLoopForeach, DecidesWhatAnOptimizerMakesInPassing) {
  const TemporaryBytes& expected = GetParam();
  const auto peak = [&](bool foreach) {
    return PeakOfRole(TrainInLoop({.foreach = foreach}, expected.optimizer),
                      TensorRole::kOptimizerTemporary);
  };
  EXPECT_EQ(peak(true), expected.of_lists);
  EXPECT_EQ(peak(false), expected.one_by_one);
}

// One by one: Adam has the root and the quotient of the first weight at once;
// RMSprop and Adagrad the last weight's root beside the next one's.
INSTANTIATE_TEST_SUITE_P(
    All, TrainingLoopForeach,
    testing::Values(
        TemporaryBytes{Optimizer::kSgd, 0, 0},
        TemporaryBytes{Optimizer::kMomentum, 0, 0},
        TemporaryBytes{Optimizer::kAdam, kAllWeights, 2048 + 2048},
        TemporaryBytes{Optimizer::kAdamW, kAllWeights, 2048 + 2048},
        TemporaryBytes{Optimizer::kAmsgrad, kAllWeights, 2048 + 2048},
        TemporaryBytes{Optimizer::kRmsProp, kAllWeights, 2048 + 128},
        TemporaryBytes{Optimizer::kAdagrad, 2 * kAllWeights, 2048 + 128},
        // The first weight's means of rows and of columns and its estimate live
        // on while the next one's squares and estimate are made.
        TemporaryBytes{Optimizer::kAdafactor, 128 + 64 + 2048 + 128 + 128,
                       128 + 64 + 2048 + 128 + 128}),
    [](const auto& tested) {
      return std::string(OptimizerName(tested.param.optimizer));
    });

TEST(TrainingLoop, AdamOverListsHasTwoTemporariesInPyTorch20) {
  const auto temporaries = [](Optimizer optimizer, TorchVersion torch,
                              bool foreach) {
    return PeakOfRole(TrainInLoop({.foreach = foreach}, optimizer, torch),
                      TensorRole::kOptimizerTemporary);
  };
  const TorchVersion old = {.major = 2, .minor = 0};
  EXPECT_EQ(temporaries(Optimizer::kAdam, old, true), 2 * kAllWeights);
  EXPECT_EQ(temporaries(Optimizer::kAdamW, old, true), 2 * kAllWeights);
  EXPECT_EQ(temporaries(Optimizer::kAdamW, kLeanAdam, true), kAllWeights);
  EXPECT_EQ(temporaries(Optimizer::kAdamW, old, false), 2048 + 2048);
  EXPECT_EQ(temporaries(Optimizer::kAdamW, {.major = 1, .minor = 13}, true),
            kAllWeights);
  EXPECT_EQ(temporaries(Optimizer::kRmsProp, old, true), kAllWeights);
}

TEST(TrainingLoop, AFusedStepIsOneOperatorWithoutTemporaries) {
  for (const Optimizer optimizer : kAllOptimizers) {
    SCOPED_TRACE(OptimizerName(optimizer));
    if (!HasFusedStep(optimizer)) {
      EXPECT_THROW(TrainInLoop({.fused = true}, optimizer), Error);
      continue;
    }
    const OperatorGraph graph = TrainInLoop({.fused = true}, optimizer);
    const std::vector<std::string> targets =
        TargetsOf(graph, Phase::kOptimizer);
    EXPECT_THAT(targets.back(), testing::StartsWith("_fused_"));
    EXPECT_EQ(PeakOfRole(graph, TensorRole::kOptimizerTemporary), 0);
    const std::int64_t lists =
        BytesOfRole(TrainInLoop({}, optimizer), TensorRole::kOptimizerState);
    // Where steps are counted, a number per parameter counts them.
    const std::int64_t counts = targets.size() == 2 ? 4 * 4 : 0;
    EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState), lists + counts);
  }
}

// Those of a layer's weight and bias come from one operator.
TEST(TrainingLoop, StepsInTheBackwardPassUseGradientsUp) {
  const OperatorGraph graph =
      TrainInLoop({.optimizer_in_backward = true}, Optimizer::kAdam);
  EXPECT_EQ(CountIn(graph, Phase::kOptimizer, "_foreach_addcdiv_"), 4);
  EXPECT_EQ(PeakOfRole(graph, TensorRole::kGradient), 2048 + 128);
  EXPECT_EQ(PeakOfRole(graph, TensorRole::kOptimizerTemporary), 2048);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState), 2 * kAllWeights);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient), 2 * kAllWeights);
  const auto first =
      std::ranges::find(graph.nodes(), Phase::kOptimizer, &Node::phase);
  EXPECT_TRUE(std::any_of(first, graph.nodes().end(), [](const Node& node) {
    return node.phase == Phase::kBackward;
  }));
}

TEST(TrainingLoop, CallsTheOptimizersOperatorsForEveryWeight) {
  const OperatorGraph graph =
      TrainInLoop({.foreach = false}, Optimizer::kMomentum);
  EXPECT_EQ(CountIn(graph, Phase::kOptimizer, "mul_"), 4);
  EXPECT_EQ(CountIn(graph, Phase::kOptimizer, "add_"), 8);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState), kAllWeights);
}

TEST(TrainingLoop, WithoutSetToNoneGradientsStayAndAreAddedTo) {
  const OperatorGraph graph = TrainInLoop({.set_to_none = false});
  EXPECT_EQ(CountIn(graph, Phase::kOptimizer, "zero_"), 4);
  EXPECT_EQ(CountIn(graph, Phase::kBackward, "add_"), 4);
  // Born once, in the first step; those of the second are temporaries.
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient), kAllWeights);
  EXPECT_EQ(PeakOfRole(graph, TensorRole::kGradient), 0);
  EXPECT_EQ(BytesOfRole(TrainInLoop({}), TensorRole::kGradient),
            2 * kAllWeights);
}

TEST(TrainingLoop, BeforePyTorch20IsOneByOneAndKeepsGradients) {
  const TorchVersion old = {.major = 1, .minor = 13};
  const OperatorGraph usual = TrainInLoop({}, Optimizer::kAdam, old);
  EXPECT_EQ(CountIn(usual, Phase::kOptimizer, "zero_"), 4);
  EXPECT_EQ(BytesOfRole(usual, TensorRole::kGradient), kAllWeights);
  EXPECT_EQ(PeakOfRole(usual, TensorRole::kOptimizerTemporary), 2048 + 2048);
  const OperatorGraph stated = TrainInLoop(
      {.foreach = true, .set_to_none = true}, Optimizer::kAdam, old);
  EXPECT_EQ(CountIn(stated, Phase::kOptimizer, "zero_"), 0);
  EXPECT_EQ(BytesOfRole(stated, TensorRole::kGradient), 2 * kAllWeights);
  EXPECT_EQ(PeakOfRole(stated, TensorRole::kOptimizerTemporary), kAllWeights);
  const OperatorGraph next =
      TrainInLoop({}, Optimizer::kAdam, {.major = 2, .minor = 0});
  EXPECT_EQ(CountIn(next, Phase::kOptimizer, "zero_"), 0);
}

TEST(TrainingLoop, ALateZeroGradKeepsGradientsThroughTheForwardPass) {
  const OperatorGraph usual = TrainInLoop({});
  const OperatorGraph late = TrainInLoop({.late_zero_grad = true});
  ASSERT_EQ(late.nodes().size(), usual.nodes().size());
  const std::vector<std::string> targets = TargetsOf(usual);
  const auto relu =
      static_cast<NodeId>(std::ranges::find(targets, "relu") - targets.begin());
  EXPECT_EQ(LiveBytesAfter(late, relu),
            LiveBytesAfter(usual, relu) + kAllWeights);
  const auto last = static_cast<NodeId>(usual.nodes().size()) - 1;
  EXPECT_EQ(LiveBytesAfter(late, last), LiveBytesAfter(usual, last));
}

TEST(TrainingLoop, ALateZeroGradClearsOnceForAllBatches) {
  const OperatorGraph graph = TrainInLoop(
      {.set_to_none = false, .late_zero_grad = true, .accumulation = 3});
  EXPECT_EQ(CountIn(graph, Phase::kOptimizer, "zero_"), 4);
  EXPECT_EQ(graph.nodes().front().phase, Phase::kForward);
}

TEST(TrainingLoop, AccumulatesGradientsOfSeveralBatches) {
  const OperatorGraph graph = TrainInLoop({.accumulation = 3});
  EXPECT_EQ(CountIn(graph, Phase::kForward, "linear"), 3 * 2);
  EXPECT_EQ(CountIn(graph, Phase::kBackward, "add_"), 2 * 4);
  EXPECT_EQ(CountIn(graph, Phase::kOptimizer, "_foreach_add_"), 1);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient), 2 * kAllWeights);
  EXPECT_EQ(graph.ForwardMacs(), 3 * TrainInLoop({}).ForwardMacs());
}

TEST(TrainingLoop, EveryBatchFromTheThirdIsLikeTheOneBefore) {
  const OperatorGraph three = TrainInLoop({.accumulation = 3});
  const OperatorGraph seven = TrainInLoop({.accumulation = 7});
  const OperatorGraph two = TrainInLoop({.accumulation = 2});
  EXPECT_EQ(std::ssize(seven.nodes()) - std::ssize(three.nodes()),
            4 * (std::ssize(three.nodes()) - std::ssize(two.nodes())));
  EXPECT_EQ(seven.ForwardMacs() * 3, three.ForwardMacs() * 7);
  EXPECT_EQ(CountIn(seven, Phase::kOptimizer, "_foreach_add_"),
            CountIn(three, Phase::kOptimizer, "_foreach_add_"));
  for (const TensorRole role :
       {TensorRole::kGradient, TensorRole::kSaved, TensorRole::kActivation,
        TensorRole::kBackwardTemporary}) {
    EXPECT_EQ(PeakOfRole(seven, role), PeakOfRole(three, role));
  }
  EXPECT_EQ(LiveBytesAfter(seven, std::ssize(seven.nodes()) - 1),
            LiveBytesAfter(three, std::ssize(three.nodes()) - 1));
}

TEST(TrainingLoop, MoreBatchesThanCanBePredictedNameTheFlag) {
  try {
    TrainInLoop({.accumulation = 1'000'000});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("--accumulate 1000000 makes"));
  }
}

TEST(TrainingLoop, TrainsTheParametersThatAreNamed) {
  const OperatorGraph graph =
      TrainInLoop({.trainable = "^linear1"}, Optimizer::kAdam);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient), 2 * (1024 + 32));
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState), 2 * (1024 + 32));
  // Neither the first layer's weight nor its input gets a gradient.
  EXPECT_EQ(CountIn(graph, Phase::kBackward, "mm"), 1);
}

TEST(TrainingLoop, TrainsAdaptersAlone) {
  // On linear0, [32,16]: A is [2,16], B is [32,2], 128 + 256 bytes.
  const OperatorGraph graph = TrainInLoop(
      {.lora = {.rank = 2, .targets = "linear0"}}, Optimizer::kAdam);
  const std::vector<std::string> forward = TargetsOf(graph, Phase::kForward);
  EXPECT_THAT(forward, testing::ElementsAre("linear", "linear", "linear", "mul",
                                            "add", "relu", "linear", "mean"));
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kParameter),
            kAllWeights + 128 + 256);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient), 2 * (128 + 256));
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerState), 2 * (128 + 256));
  EXPECT_EQ(graph.ParameterElements(), kAllWeights / 4 + 2 * 16 + 32 * 2);
}

// A layer's own product with its matrix has no adapter in the backward pass.
TEST(TrainingLoop, AdaptsTheForwardPassAlone) {
  const OperatorGraph graph =
      TrainInLoop({.lora = {.rank = 2, .targets = "linear"}});
  EXPECT_EQ(CountIn(graph, Phase::kBackward, "matmul"), 0);
  EXPECT_EQ(CountIn(graph, Phase::kBackward, "linear"), 0);
  // Of each A and B its gradient, and those of their results and of what the
  // second layer reads: by A and by the layer's matrix.
  EXPECT_EQ(CountIn(graph, Phase::kBackward, "mm"), 4 + 2 + 2);
}

// x·W with W [16,32], and W as it lies or transposed.
TEST(TrainingLoop, AdaptsPlainMatrixProducts) {
  using Product = at::Tensor (*)(const at::Tensor&, const at::Tensor&);
  const std::pair<std::string, Product> products[] = {
      {"matmul", [](const at::Tensor& x,
                    const at::Tensor& w) { return at::matmul(x, w); }},
      {"mm",
       [](const at::Tensor& x, const at::Tensor& w) { return at::mm(x, w); }},
      {"addmm",
       [](const at::Tensor& x, const at::Tensor& w) {
         return at::addmm(at::zeros({32}, x.options()), x, w);
       }},
      {"linear", [](const at::Tensor& x, const at::Tensor& w) {
         return at::linear(x, w.t());
       }}};
  for (const auto& [name, product] : products) {
    SCOPED_TRACE(name);
    const OperatorGraph graph = TrainProduct(product);
    const std::vector<std::string> targets = TargetsOf(graph, Phase::kForward);
    EXPECT_THAT(targets, IsSupersetOf(std::vector<std::string>{
                             name, "matmul", "matmul", "mul", "add"}));
    EXPECT_EQ(graph.ForwardMacs(), 4 * (16 * 32 + 16 * 2 + 2 * 32));
    // A and B alone: 16 · 2 and 2 · 32.
    EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient), 2 * 4 * (32 + 64));
  }
}

TEST(TrainingLoop, CastsForAdaptersOfAHalfNetwork) {
  const BoundInput input{"x", {DType::kF32, {4, 16}}};
  const Program program = FakeProgram(
      "net", {input}, Simple([](Layers& l) { return l.Linear(16, 32); }));
  const OperatorGraph graph =
      TraceProgram(
          program, {input},
          {.run = {.mode = Mode::kTraining, .precision = Precision::kBf16},
           .loop = {.lora = {.rank = 2, .targets = "linear"}}})
          .graph;
  EXPECT_THAT(TargetsOf(graph, Phase::kForward),
              testing::ElementsAre("linear", "to", "linear", "linear", "mul",
                                   "add", "to", "mean"));
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient), 2 * (128 + 256));
}

TEST(TrainingLoop, InputsThatRequireGradientsGetOneEachStep) {
  const OperatorGraph graph = TrainInLoop({.input_grad = true});
  constexpr std::int64_t kInput = 4 * 16 * 4;
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kGradient),
            2 * (kAllWeights + kInput));
  EXPECT_EQ(CountIn(graph, Phase::kBackward, "mm"),
            CountIn(TrainInLoop({}), Phase::kBackward, "mm") + 1);
  EXPECT_EQ(CountIn(graph, Phase::kBackward, "add_"), 0);
}

// The result [4,8] of 128 bytes.
TEST(TrainingLoop, FreesResultsWithTheFunctionThatMadeThem) {
  const auto result_dies_in = [](const TrainingLoop& loop) {
    const OperatorGraph graph = TrainInLoop(loop);
    const NodeId death = DeathOf(graph, graph.outputs()[0]);
    return death == kNone ? "the next step"
                          : PhaseName(graph.node(death).phase);
  };
  EXPECT_EQ(result_dies_in({}), "the next step");
  EXPECT_EQ(result_dies_in({.loss_in_function = true}), "forward");
  EXPECT_EQ(result_dies_in({.loss_in_function = true, .accumulation = 3}),
            "forward");
  EXPECT_EQ(result_dies_in({.step_in_function = true}), "optimizer");
}

TEST(TrainingLoop, ConvertsWhatAFunctionReturnsUnderAutocast) {
  const BoundInput input{"x", {DType::kF32, {4, 16}}};
  const program_test::Network network =
      Simple([](Layers& l) { return l.Linear(16, 8); });
  const auto type_of = [&](const TrainingLoop& loop) {
    const Trace trace =
        TraceProgram(FakeProgram("net", {input}, network), {input},
                     {.run = {.mode = Mode::kTraining,
                              .precision = Precision::kBf16,
                              .autocast = true},
                      .loop = loop});
    return ToString(trace.outputs[0].type);
  };
  EXPECT_EQ(type_of({}), "bf16[4,8]");
  EXPECT_EQ(type_of({.loss_in_function = true}), "f32[4,8]");
}

TEST(TrainingLoop, RefusesWhatNothingAnswersTo) {
  const auto message_of = [](const TrainingLoop& loop) -> std::string {
    try {
      TrainInLoop(loop);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
  };
  EXPECT_THAT(message_of({.trainable = "head"}),
              HasSubstr("'head' is found in the name of none of 4 parameters"));
  EXPECT_THAT(message_of({.trainable = "("}),
              HasSubstr("'(' is no regular expression"));
  EXPECT_THAT(message_of({.optimizer_in_backward = true, .accumulation = 2}),
              HasSubstr("steps in the backward pass"));
  EXPECT_THAT(message_of({.accumulation = 0}), HasSubstr("of 0 batches"));
  EXPECT_THAT(message_of({.lora = {.rank = 2, .targets = "bias"}}),
              HasSubstr("in the name of no matrix"));
  EXPECT_THAT(message_of({.lora = {.rank = 0, .targets = "x"}}),
              HasSubstr("LoRA of rank 0, expected at least 1"));
  EXPECT_THAT(
      message_of({.recompute = "auto"}),
      HasSubstr("'auto': no numbered module keeps a tensor that could be"));
}

}  // namespace
}  // namespace foretell
