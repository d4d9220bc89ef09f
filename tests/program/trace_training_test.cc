// Roles and phases of a training step, in bytes counted by hand.
//
// The network is linear(16, 32), relu, linear(32, 8) on [4,16]: 544 + 264 = 808
// weights, 3232 bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

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
using testing::ElementsAre;

constexpr std::int64_t kParameterBytes = (16 * 32 + 32 + 32 * 8 + 8) * 4;
/// A row and a column per matrix, vectors whole.
constexpr std::int64_t kAdafactorState = (32 + 16 + 32 + 8 + 32 + 8) * 4;
/// Two norms per parameter, and a mean per matrix.
constexpr std::int64_t kAdafactorNumbers = (2 * 4 + 2) * 4;
const BoundInput kBatchOfVectors{"x", {DType::kF32, {4, 16}}};

program_test::Network TwoLayers() {
  return Simple([](Layers& l) {
    return Chain({l.Linear(16, 32),
                  [](const at::Tensor& x) { return at::relu(x); },
                  l.Linear(32, 8)});
  });
}

OperatorGraph Train(const program_test::Network& network, Optimizer optimizer,
                    Precision precision = Precision::kFp32) {
  return TraceProgram(FakeProgram("net", {kBatchOfVectors}, network),
                      {kBatchOfVectors},
                      {.run = {.mode = Mode::kTraining,
                               .precision = precision,
                               .optimizer = optimizer}})
      .graph;
}

/// Bytes of `role` that are alive after the last node.
std::int64_t AtEnd(const OperatorGraph& graph, TensorRole role) {
  const std::vector<bool> alive =
      AliveAfter(graph, static_cast<NodeId>(graph.nodes().size()) - 1);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    const Storage& storage = graph.storages()[i];
    if (alive[i] && storage.role == role) bytes += storage.bytes;
  }
  return bytes;
}

/// Whether the result of the step before, which a loop's variable names, is
/// alive once node `node` has run. It is the first storage as large as the
/// result that the warm-up leaves behind.
bool IsOldResultAlive(const OperatorGraph& graph, NodeId node) {
  constexpr std::int64_t kResultBytes = 4 * 8 * 4;
  const std::vector<bool> before = AliveAfter(graph, kNone);
  const std::vector<bool> after = AliveAfter(graph, node);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Storage& storage = graph.storages()[i];
    const bool is_activation = storage.role == TensorRole::kActivation ||
                               storage.role == TensorRole::kSaved;
    if (before[i] && is_activation && storage.bytes == kResultBytes) {
      return after[i];
    }
  }
  return false;
}

TEST(TraceTraining, KeepsAResultUntilTheNextOneIsThere) {
  const OperatorGraph graph = Train(TwoLayers(), Optimizer::kSgd);
  NodeId last_forward = kNone;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.kind == OpKind::kLinear && node.phase == Phase::kForward) {
      last_forward = static_cast<NodeId>(i);
    }
  }
  EXPECT_TRUE(IsOldResultAlive(graph, kNone));
  EXPECT_TRUE(IsOldResultAlive(graph, last_forward - 1));
  EXPECT_FALSE(IsOldResultAlive(graph, last_forward));
}

struct OptimizerBytes {
  Optimizer optimizer;
  std::int64_t state;
  std::int64_t temporary;  ///< Per step.
};

class TraceOptimizer : public testing::TestWithParam<OptimizerBytes> {};

TEST_P(TraceOptimizer, KeepsItsStateAndDropsItsTemporaries) {
  const OperatorGraph graph = Train(TwoLayers(), GetParam().optimizer);
  EXPECT_EQ(AtEnd(graph, TensorRole::kParameter), kParameterBytes);
  EXPECT_EQ(AtEnd(graph, TensorRole::kGradient), kParameterBytes);
  EXPECT_EQ(AtEnd(graph, TensorRole::kOptimizerState), GetParam().state);
  EXPECT_EQ(AtEnd(graph, TensorRole::kOptimizerTemporary), 0);
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kOptimizerTemporary),
            2 * GetParam().temporary);
  EXPECT_EQ(graph.info().optimizer, OptimizerName(GetParam().optimizer));
}

INSTANTIATE_TEST_SUITE_P(
    All, TraceOptimizer,
    testing::Values(
        OptimizerBytes{Optimizer::kSgd, 0, 0},
        OptimizerBytes{Optimizer::kMomentum, kParameterBytes, 0},
        OptimizerBytes{Optimizer::kAdam, 2 * kParameterBytes, kParameterBytes},
        OptimizerBytes{Optimizer::kAdamW, 2 * kParameterBytes, kParameterBytes},
        OptimizerBytes{Optimizer::kRmsProp, kParameterBytes, kParameterBytes},
        OptimizerBytes{Optimizer::kAdagrad, kParameterBytes,
                       2 * kParameterBytes},
        // A row and a column of each matrix, its vectors whole; in passing each
        // parameter's estimate, its means or squares, and norms of 4 bytes.
        OptimizerBytes{Optimizer::kAdafactor, kAdafactorState,
                       kParameterBytes + kAdafactorState + kAdafactorNumbers}),
    [](const auto& tested) {
      return std::string(OptimizerName(tested.param.optimizer));
    });

TEST(TraceTraining, SavesWhatTheBackwardPassReads) {
  const OperatorGraph graph = Train(TwoLayers(), Optimizer::kSgd);
  // relu saves its result [4,32]; the output [4,8] and the loss are held.
  // The result of the first linear layer dies: nobody saves it.
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kSaved),
            2 * (4 * 32 * 4 + 4 * 8 * 4 + 4));
  EXPECT_EQ(BytesOfRole(graph, TensorRole::kActivation), 2 * 4 * 32 * 4);
}

TEST(TraceTraining, RunsForwardBackwardAndOptimizerInThisOrder) {
  const OperatorGraph graph = Train(TwoLayers(), Optimizer::kSgd);
  EXPECT_THAT(TargetsOf(graph, Phase::kForward),
              ElementsAre("linear", "relu", "linear", "mean"));
  EXPECT_THAT(TargetsOf(graph, Phase::kOptimizer),
              ElementsAre("_foreach_add_"));
  const std::vector<std::string> backward = TargetsOf(graph, Phase::kBackward);
  EXPECT_THAT(backward, testing::Contains("threshold_backward"));
  // Two weight gradients and one input gradient.
  EXPECT_EQ(std::count(backward.begin(), backward.end(), "mm"), 3);
  EXPECT_TRUE(std::is_sorted(
      graph.nodes().begin(), graph.nodes().end(),
      [](const Node& a, const Node& b) { return a.phase < b.phase; }));
}

TEST(TraceTraining, GradientsAreBornInTheBackwardPass) {
  const OperatorGraph graph = Train(TwoLayers(), Optimizer::kMomentum);
  std::int64_t bytes = 0;
  for (const MemoryEvent& event : graph.events()) {
    const Storage& storage = graph.storage(event.storage);
    if (event.kind != MemoryEvent::Kind::kAllocate || event.node == kNone ||
        storage.role != TensorRole::kGradient) {
      continue;
    }
    EXPECT_EQ(graph.node(event.node).phase, Phase::kBackward);
    bytes += storage.bytes;
  }
  EXPECT_EQ(bytes, kParameterBytes);
}

TEST(TraceTraining, OptimizerStateExistsBeforeTheRecordedStep) {
  const OperatorGraph graph = Train(TwoLayers(), Optimizer::kAdam);
  for (const MemoryEvent& event : graph.events()) {
    if (graph.storage(event.storage).role == TensorRole::kOptimizerState) {
      EXPECT_EQ(event.node, kNone);
    }
  }
}

TEST(TraceTraining, CountsTheForwardPassAlone) {
  EXPECT_EQ(Train(TwoLayers(), Optimizer::kSgd).ForwardMacs(),
            4 * (16 * 32 + 32 * 8));
}

TEST(TraceTraining, HalfPrecisionHalvesGradientsAndState) {
  const OperatorGraph graph =
      Train(TwoLayers(), Optimizer::kMomentum, Precision::kBf16);
  EXPECT_EQ(AtEnd(graph, TensorRole::kGradient), kParameterBytes / 2);
  EXPECT_EQ(AtEnd(graph, TensorRole::kOptimizerState), kParameterBytes / 2);
}

TEST(TraceTraining, ConnectsBackwardToWhatForwardSaved) {
  const OperatorGraph graph = Train(TwoLayers(), Optimizer::kSgd);
  for (const Node& node : graph.nodes()) {
    if (node.target != "threshold_backward") continue;
    // Its second input is the result of relu, node 1.
    EXPECT_EQ(graph.value(node.inputs[1]).producer, 1);
    return;
  }
  FAIL() << "no threshold_backward";
}

TEST(TraceTraining, FrozenWeightsGetNoGradient) {
  const auto network =
      [](program_test::Weights& weights) -> program_test::Forward {
    const at::Tensor frozen = weights.Parameter("frozen", {16, 16});
    const at::Tensor trained = weights.Parameter("trained", {16, 16});
    frozen.requires_grad_(false);
    return [frozen,
            trained](program_test::Tensors inputs) -> program_test::Tensors {
      return {at::matmul(at::matmul(inputs[0], frozen), trained)};
    };
  };
  const OperatorGraph graph = Train(network, Optimizer::kAdam);
  EXPECT_EQ(AtEnd(graph, TensorRole::kGradient), 16 * 16 * 4);
  EXPECT_EQ(AtEnd(graph, TensorRole::kOptimizerState), 2 * 16 * 16 * 4);
}

TEST(TraceTraining, ANetworkWithoutWeightsHasNoBackwardPass) {
  const OperatorGraph graph = Train(
      program_test::Stateless([](const at::Tensor& x) { return at::relu(x); }),
      Optimizer::kAdam);
  EXPECT_TRUE(TargetsOf(graph, Phase::kBackward).empty());
  EXPECT_TRUE(TargetsOf(graph, Phase::kOptimizer).empty());
}

/// What a step of a network with such results goes backward from.
Trace TrainWithResults(
    const std::function<program_test::Tensors(const at::Tensor&)>& results) {
  const BoundInput input{"x", {DType::kF32, {4, 16}}};
  const auto network =
      [results](program_test::Weights& weights) -> program_test::Forward {
    const at::Tensor w = weights.Parameter("w", {16, 8});
    return [w, results](program_test::Tensors inputs) -> program_test::Tensors {
      return results(at::matmul(inputs[0], w));
    };
  };
  return TraceProgram(program_test::FakeProgram("net", {input}, network),
                      {input}, {.run = {.mode = Mode::kTraining}});
}

TEST(TraceTraining, AFirstResultThatIsAScalarIsTheLoss) {
  const Trace trace = TrainWithResults([](const at::Tensor& y) {
    return program_test::Tensors{at::sum(y), y};
  });
  EXPECT_EQ(trace.loss, "first output, a scalar");
  EXPECT_THAT(TargetsOf(trace.graph, Phase::kForward),
              testing::ElementsAre("matmul", "sum"));
}

TEST(TraceTraining, OtherwiseTheLossIsOfAllResults) {
  const Trace trace = TrainWithResults([](const at::Tensor& y) {
    return program_test::Tensors{y, at::sum(y)};
  });
  EXPECT_EQ(trace.loss, "sum of the outputs' means");
  EXPECT_THAT(TargetsOf(trace.graph, Phase::kForward),
              testing::ElementsAre("matmul", "sum", "mean", "mean", "add"));
}

TEST(TraceTraining, OperandsHaveTheShapesOfWhatWasSaved) {
  // einsum multiplies batches of matrices: it saves y [4,8] as [4,8,1].
  const Trace trace = TrainWithResults([](const at::Tensor& y) {
    const at::Tensor pairs = y.unsqueeze(2) * y.unsqueeze(1);
    return program_test::Tensors{at::einsum("bed,be->bd", {pairs, y})};
  });
  int products = 0;
  for (const Node& node : trace.graph.nodes()) {
    if (node.target != "bmm") continue;
    ++products;
    for (const ValueId operand : node.inputs) {
      EXPECT_EQ(trace.graph.value(operand).type.shape.size(), 3);
    }
  }
  EXPECT_EQ(products, 2);
}

}  // namespace
}  // namespace foretell
