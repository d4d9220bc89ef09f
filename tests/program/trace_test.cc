// What a trace of inference records, on networks of one or two operators.

#include "foretell/trace.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "foretell/graph_io.h"
#include "tests/graph/expect_error.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"
#include "tests/program/networks.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::FakeProgram;
using program_test::FixedInputs;
using program_test::Layer;
using program_test::Layers;
using program_test::Simple;
using program_test::Stateless;
using program_test::Tensors;
using program_test::Weights;
using testing::ElementsAre;

/// [2,3,8,8], 1536 bytes.
const BoundInput kImage{"x", {DType::kF32, {2, 3, 8, 8}}};
/// [4,16], 256 bytes.
const BoundInput kVector{"x", {DType::kF32, {4, 16}}};

Trace TraceOf(const program_test::Network& network, BoundInput input,
              const TraceOptions& options = {}) {
  return TraceProgram(FakeProgram("net", {input}, network), {input}, options);
}

std::string Text(const OperatorGraph& graph) {
  return PrintGraph(graph, {.with_timeline = true});
}

TEST(Trace, KeepsTopLevelOperatorsWhole) {
  const Trace trace = TraceOf(
      Simple([](Layers& l) {
        return program_test::Chain({l.Conv(3, 8, {3, 3}, {.padding = {1}}),
                                    l.BatchNorm(8), program_test::PoolToVector,
                                    l.Linear(8, 4), l.LayerNorm(4)});
      }),
      kImage);
  EXPECT_THAT(TargetsOf(trace.graph),
              ElementsAre("conv2d", "batch_norm", "adaptive_avg_pool2d",
                          "flatten", "linear", "layer_norm"));
}

TEST(Trace, KeepsAttentionWhole) {
  const BoundInput input{"x", {DType::kF32, {2, 4, 8, 16}}};
  const Trace trace =
      TraceOf(Stateless([](const at::Tensor& x) {
                return at::scaled_dot_product_attention(x, x, x);
              }),
              input);
  EXPECT_THAT(TargetsOf(trace.graph),
              ElementsAre("scaled_dot_product_attention"));
}

TEST(Trace, RecordsShapesAttributesAndScopes) {
  const Trace trace =
      TraceOf(Simple([](Layers& l) {
                return l.Conv(3, 8, {3, 3}, {.stride = {2}, .padding = {1}});
              }),
              kImage);
  const Node& node = trace.graph.node(0);
  EXPECT_THAT(node.Ints("stride", {}), ElementsAre(2));
  EXPECT_THAT(node.Ints("padding", {}), ElementsAre(1));
  EXPECT_EQ(node.Int("groups", 0), 1);
  EXPECT_EQ(node.scope, "net");
  ASSERT_EQ(node.inputs.size(), 2u);
  EXPECT_EQ(ToString(trace.graph.value(node.inputs[0]).type), "f32[2,3,8,8]");
  EXPECT_EQ(ToString(trace.graph.value(node.inputs[1]).type), "f32[8,3,3,3]");
  EXPECT_EQ(ToString(trace.graph.value(node.outputs[0]).type), "f32[2,8,4,4]");
  EXPECT_EQ(node.macs, 2 * 8 * 4 * 4 * 3 * 3 * 3);
  EXPECT_EQ(trace.graph.ParameterElements(), 8 * 3 * 3 * 3);
  ASSERT_EQ(trace.outputs.size(), 1u);
  EXPECT_EQ(ToString(trace.outputs[0].type), "f32[2,8,4,4]");
}

TEST(Trace, LeavesTheFormOfStorageOutOfTheAttributes) {
  const Trace trace =
      TraceOf(Stateless([](const at::Tensor& x) { return at::zeros_like(x); }),
              kVector);
  EXPECT_EQ(trace.graph.node(0).FindAttribute("device"), nullptr);
  EXPECT_EQ(trace.graph.node(0).FindAttribute("dtype"), nullptr);
}

TEST(Trace, GivesSourcesTheirRoles) {
  const Trace trace =
      TraceOf(Simple([](Layers& l) { return l.BatchNorm(3); }), kImage);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kInput), 2 * 3 * 8 * 8 * 4);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), 2 * 3 * 4);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 2 * 3 * 4);
  EXPECT_EQ(trace.graph.inputs().size(), 1u);
}

TEST(Trace, ViewsShareTheStorageOfTheirBase) {
  const Trace trace = TraceOf(Stateless([](const at::Tensor& x) {
                                return x.view({8, 8}).transpose(0, 1);
                              }),
                              kVector);
  ASSERT_EQ(trace.graph.nodes().size(), 2u);
  EXPECT_EQ(trace.graph.storages().size(), 1u);
  for (const Value& value : trace.graph.values()) EXPECT_EQ(value.storage, 0);
}

TEST(Trace, InPlaceUpdatesMakeANewValueInTheSameStorage) {
  const Trace trace = TraceOf(Stateless([](const at::Tensor& x) {
                                at::Tensor y = at::sigmoid(x);
                                at::relu_(y);
                                return at::tanh(y);
                              }),
                              kVector);
  const OperatorGraph& graph = trace.graph;
  ASSERT_THAT(TargetsOf(graph), ElementsAre("sigmoid", "relu_", "tanh"));
  const ValueId before = graph.node(0).outputs[0];
  const ValueId after = graph.node(1).outputs[0];
  EXPECT_NE(before, after);
  EXPECT_EQ(graph.value(before).storage, graph.value(after).storage);
  EXPECT_THAT(graph.node(2).inputs, ElementsAre(after));
}

TEST(Trace, OutVariantsNameTheirResultOnce) {
  const Trace trace = TraceOf(Stateless([](const at::Tensor& x) {
                                at::Tensor y = at::empty_like(x);
                                return at::sigmoid_out(y, x);
                              }),
                              kVector);
  EXPECT_EQ(trace.graph.nodes().back().outputs.size(), 1u);
}

TEST(Trace, FreesAResultOnceTheNextLayerHasRun) {
  const Trace trace = TraceOf(Simple([](Layers&) -> Layer {
                                return [](const at::Tensor& x) {
                                  at::Tensor y = at::relu(x);
                                  y = at::tanh(y);
                                  y = at::sigmoid(y);
                                  return y;
                                };
                              }),
                              kVector);
  const OperatorGraph& graph = trace.graph;
  EXPECT_EQ(DeathOf(graph, graph.node(0).outputs[0]), 1);
  EXPECT_EQ(DeathOf(graph, graph.node(1).outputs[0]), 2);
  EXPECT_EQ(DeathOf(graph, graph.node(2).outputs[0]), kNone);  // an output
}

TEST(Trace, KeepsTheInputThatTheCallerHolds) {
  const Trace trace = TraceOf(
      Stateless([](const at::Tensor& x) { return at::relu(at::tanh(x)); }),
      kVector);
  EXPECT_EQ(DeathOf(trace.graph, trace.graph.inputs()[0]), kNone);
}

TEST(Trace, AResidualLivesUntilItIsAdded) {
  const Trace trace = TraceOf(Simple([](Layers&) -> Layer {
                                return [](const at::Tensor& x) {
                                  at::Tensor y = at::relu(x);
                                  {
                                    const at::Tensor skip =
                                        std::exchange(y, at::Tensor());
                                    y = at::tanh(skip);
                                    y = at::sigmoid(y);
                                    y = at::add(y, skip);
                                  }
                                  return at::exp(y);
                                };
                              }),
                              kVector);
  const OperatorGraph& graph = trace.graph;
  ASSERT_THAT(TargetsOf(graph),
              ElementsAre("relu", "tanh", "sigmoid", "add", "exp"));
  EXPECT_EQ(DeathOf(graph, graph.node(0).outputs[0]), 3);
  EXPECT_EQ(LiveBytesAfter(graph, 2), 256 * 3);  // x, relu, sigmoid
}

TEST(Trace, DoesNotRecordArithmeticOnTheHost) {
  const Trace trace =
      TraceOf(Stateless([](const at::Tensor& x) {
                at::Tensor size = at::tensor({x.size(0), x.size(1)}, at::kLong);
                size = at::mul(size, 2).sum();
                return at::tanh(x).view({-1, size.item<std::int64_t>() / 20});
              }),
              kVector);
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("tanh", "view"));
  EXPECT_EQ(ToString(trace.outputs[0].type), "f32[32,2]");
}

TEST(Trace, KeepsHostTensorsOfTheProgramOnTheHost) {
  const Trace trace =
      TraceOf(Stateless([](const at::Tensor& x) {
                const at::Tensor range = at::arange(
                    4, at::TensorOptions(at::kLong).device(at::kCPU));
                return x.view({range.sum().item<std::int64_t>() - 4, 32});
              }),
              kVector);
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("view"));
}

TEST(Trace, RecordsFactoriesOnTheDevice) {
  const Trace trace = TraceOf(Stateless([](const at::Tensor& x) {
                                return at::add(x, at::zeros({16}, x.options()));
                              }),
                              kVector);
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("zeros", "add"));
  EXPECT_EQ(trace.graph.Edges().size(), 1u);
}

TEST(Trace, BatchScalesActivationsAndLeavesParameters) {
  const auto network = Simple([](Layers& l) {
    return program_test::Chain({l.Linear(16, 32), l.Linear(32, 8)});
  });
  const Trace one = TraceOf(network, {"x", {DType::kF32, {1, 16}}});
  const Trace eight = TraceOf(network, {"x", {DType::kF32, {8, 16}}});
  EXPECT_EQ(one.graph.info().batch, 1);
  EXPECT_EQ(eight.graph.info().batch, 8);
  EXPECT_EQ(BytesOfRole(eight.graph, TensorRole::kActivation),
            8 * BytesOfRole(one.graph, TensorRole::kActivation));
  EXPECT_EQ(BytesOfRole(eight.graph, TensorRole::kParameter),
            BytesOfRole(one.graph, TensorRole::kParameter));
  EXPECT_EQ(eight.graph.ForwardMacs(), 8 * one.graph.ForwardMacs());
}

TEST(Trace, HalfPrecisionHalvesEveryByte) {
  const auto network = Simple([](Layers& l) {
    return program_test::Chain({l.Linear(16, 32), l.Linear(32, 8)});
  });
  const Trace full = TraceOf(network, kVector);
  for (const Precision precision : {Precision::kFp16, Precision::kBf16}) {
    const Trace half =
        TraceOf(network, kVector, {.run = {.precision = precision}});
    for (const TensorRole role : {TensorRole::kInput, TensorRole::kParameter,
                                  TensorRole::kActivation}) {
      EXPECT_EQ(2 * BytesOfRole(half.graph, role),
                BytesOfRole(full.graph, role))
          << TensorRoleName(role);
    }
  }
  const Trace tf32 =
      TraceOf(network, kVector, {.run = {.precision = Precision::kTf32}});
  EXPECT_EQ(BytesOfRole(tf32.graph, TensorRole::kParameter),
            BytesOfRole(full.graph, TensorRole::kParameter));
}

TEST(Trace, PrecisionLeavesIntegersAlone) {
  const Trace trace = TraceOf(
      Simple([](Layers& l) { return l.Embedding(50, 16); }),
      program_test::Tokens(2, 8), {.run = {.precision = Precision::kFp16}});
  EXPECT_EQ(ToString(trace.graph.value(trace.graph.inputs()[0]).type),
            "i64[2,8]");
  EXPECT_EQ(ToString(trace.outputs[0].type), "f16[2,8,16]");
}

TEST(Trace, SharedWeightsCountOnce) {
  const auto network = [](Weights& weights) -> program_test::Forward {
    const at::Tensor w = weights.Parameter("w", {16, 16});
    return [w](Tensors inputs) -> Tensors {
      return {at::matmul(at::matmul(inputs[0], w), w)};
    };
  };
  const Trace trace = TraceOf(network, kVector);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), 16 * 16 * 4);
  EXPECT_EQ(trace.graph.ParameterElements(), 256);
  EXPECT_EQ(trace.graph.node(0).inputs[1], trace.graph.node(1).inputs[1]);
}

TEST(Trace, UnnamedConstantsBecomeBuffers) {
  InitializeTracing();
  const at::Tensor constant =
      at::empty({16}, at::TensorOptions().device(at::kMeta));
  const Trace trace =
      TraceOf(Stateless([constant](const at::Tensor& x) {
                return at::add(at::add(x, constant), constant.view({1, 16}));
              }),
              kVector);
  // Both uses and the view are of one storage of 64 bytes.
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 64);
}

TEST(Trace, ListsEveryDefinedOutput) {
  const auto network = [](Weights&) -> program_test::Forward {
    return [](Tensors inputs) -> Tensors {
      return {at::relu(inputs[0]), at::Tensor(), at::argmax(inputs[0], 1)};
    };
  };
  const Trace trace = TraceOf(network, kVector);
  ASSERT_EQ(trace.outputs.size(), 2u);
  EXPECT_EQ(ToString(trace.outputs[1].type), "i64[4]");
  EXPECT_EQ(trace.graph.outputs().size(), 2u);
}

TEST(Trace, IsTheSameEveryTime) {
  for (const program_test::NamedNetwork& network :
       program_test::AllNetworks()) {
    const Program program = network.ToProgram();
    for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
      const TraceOptions options{
          .run = {.mode = mode, .optimizer = Optimizer::kAdam}};
      const Trace first = TraceProgram(program, network.inputs, options);
      const Trace second = TraceProgram(program, network.inputs, options);
      EXPECT_EQ(Text(first.graph), Text(second.graph)) << network.name;
    }
  }
}

TEST(Trace, RenamingAnInputChangesItsNameAlone) {
  const auto network = Simple([](Layers& l) { return l.Linear(16, 8); });
  const Trace x = TraceOf(network, {"x", kVector.type});
  const Trace y = TraceOf(network, {"image.raw", kVector.type});
  ASSERT_EQ(x.graph.values().size(), y.graph.values().size());
  for (std::size_t i = 0; i < x.graph.values().size(); ++i) {
    const Value& a = x.graph.values()[i];
    const Value& b = y.graph.values()[i];
    EXPECT_EQ(a.type, b.type);
    EXPECT_EQ(a.storage, b.storage);
    EXPECT_TRUE(a.name == b.name || a.name == "x");
  }
  EXPECT_EQ(x.graph.events().size(), y.graph.events().size());
}

TEST(Trace, NamesStayUniqueWhenAProgramRepeatsThem) {
  const auto network = [](Weights& weights) -> program_test::Forward {
    const at::Tensor a = weights.Parameter("0", {16});
    const at::Tensor b = weights.Parameter("0", {16});
    return [a, b](Tensors inputs) -> Tensors {
      return {at::add(at::add(inputs[0], a), b)};
    };
  };
  const Trace trace = TraceOf(network, kVector);
  EXPECT_EQ(ParseGraph(Text(trace.graph)).values().size(),
            trace.graph.values().size());
}

TEST(Trace, RoundTripsThroughText) {
  for (const program_test::NamedNetwork& network :
       program_test::AllNetworks()) {
    const Trace trace = TraceProgram(network.ToProgram(), network.inputs,
                                     {.run = {.mode = Mode::kTraining}});
    const std::string text = Text(trace.graph);
    EXPECT_EQ(Text(ParseGraph(text)), text) << network.name;
  }
}

TEST(Trace, ErrorsOfShapesNameTheProgram) {
  const BoundInput wrong{"x", {DType::kF32, {4, 15}}};
  ExpectError(
      [&] {
        TraceOf(Simple([](Layers& l) { return l.Linear(16, 8); }), wrong);
      },
      ErrorCode::kInvalidArgument, "net: ");
}

TEST(Trace, AFailedTraceLeavesNothingBehind) {
  const auto bad = Stateless([](const at::Tensor& x) {
    const at::Tensor y = at::relu(x);
    return at::matmul(y, y);  // [4,16] × [4,16]
  });
  EXPECT_THROW(TraceOf(bad, kVector), Error);
  const Trace trace = TraceOf(
      Stateless([](const at::Tensor& x) { return at::relu(x); }), kVector);
  EXPECT_EQ(trace.graph.nodes().size(), 1u);
}

TEST(Trace, OnTheCpuRecordsTheSameGraph) {
  const auto network = Simple([](Layers& l) {
    return program_test::Chain({l.Linear(16, 32),
                                [](const at::Tensor& x) { return at::relu(x); },
                                l.Linear(32, 8)});
  });
  const Trace meta = TraceOf(network, kVector);
  const Trace cpu = TraceOf(network, kVector, {.device = TraceDevice::kCpu});
  EXPECT_EQ(TargetsOf(meta.graph), TargetsOf(cpu.graph));
  EXPECT_EQ(meta.graph.ForwardMacs(), cpu.graph.ForwardMacs());
}

/// x times as many ones as the number in n says.
program_test::Network Repeats() {
  return [](program_test::Weights& weights) -> program_test::Forward {
    const at::Tensor w = weights.Parameter("w", {4, 4});
    return [w](program_test::Tensors inputs) -> program_test::Tensors {
      const std::int64_t times = inputs[1].max().item<std::int64_t>();
      return {at::matmul(inputs[0], w).repeat({times, 1}),
              at::add(inputs[0], inputs[1].unsqueeze(1))};
    };
  };
}

Trace TraceRepeats(TraceDevice device, std::vector<std::int64_t> values) {
  const std::vector<BoundInput> inputs = {
      {.name = "x", .type = {DType::kF32, {2, 4}}},
      {.name = "n", .type = {DType::kI64, {2}}, .values = std::move(values)}};
  return TraceProgram(FakeProgram("net", inputs, Repeats()), inputs,
                      {.device = device});
}

TEST(Trace, ContentThatIsGivenIsKnownWithoutArithmetic) {
  for (const TraceDevice device : {TraceDevice::kMeta, TraceDevice::kCpu}) {
    const Trace trace = TraceRepeats(device, {1, 5});
    EXPECT_THAT(DescribeOutputs(trace),
                ElementsAre("output0=f32[10,4]", "output1=f32[2,4]"));
    EXPECT_TRUE(trace.warnings.empty()) << trace.warnings.front();
  }
}

TEST(Trace, SaysThatRandomContentDecided) {
  const Trace trace = TraceRepeats(TraceDevice::kCpu, {});
  EXPECT_EQ(DescribeOutputs(trace).front(), "output0=f32[2,4]");
  ASSERT_EQ(trace.warnings.size(), 1U);
  EXPECT_THAT(trace.warnings.front(),
              testing::AllOf(testing::HasSubstr("item in 'net'"),
                             testing::HasSubstr("--value NAME=")));
}

TEST(Trace, DrawsTheSameByTheSameSeed) {
  const BoundInput input{.name = "x", .type = {DType::kF32, {64, 4}}};
  // The count of positive elements of a product of two that are drawn.
  const program_test::Network network = [](program_test::Weights& weights) {
    const at::Tensor w = weights.Parameter("w", {4, 4});
    return [w](program_test::Tensors inputs) -> program_test::Tensors {
      return {at::nonzero(at::matmul(inputs[0], w) > 0)};
    };
  };
  const auto rows = [&](std::uint64_t seed) {
    const Trace trace =
        TraceProgram(FakeProgram("net", {input}, network), {input},
                     {.device = TraceDevice::kCpu, .seed = seed});
    return trace.outputs.at(0).type.shape.at(0);
  };
  const std::int64_t first = rows(1);
  EXPECT_EQ(rows(1), first);
  EXPECT_TRUE(rows(2) != first || rows(3) != first);
}

TEST(Trace, NumbersAndResultsOfShapesAreOutputsOnTheHost) {
  const BoundInput input{.name = "x", .type = {DType::kF32, {2, 4}}};
  const program_test::Network network = [](program_test::Weights&) {
    return [](program_test::Tensors inputs) -> program_test::Tensors {
      return {at::tensor(inputs[0].sizes(), at::kLong), at::relu(inputs[0])};
    };
  };
  for (const TraceDevice device : {TraceDevice::kMeta, TraceDevice::kCpu}) {
    EXPECT_THAT(
        DescribeOutputs(TraceProgram(FakeProgram("net", {input}, network),
                                     {input}, {.device = device})),
        ElementsAre("output0=i64[2] on the host", "output1=f32[2,4]"));
  }
}

TEST(Trace, OptimizerNamesRoundTrip) {
  for (const Optimizer optimizer : kAllOptimizers) {
    EXPECT_EQ(ParseOptimizer(OptimizerName(optimizer)), optimizer);
  }
  ExpectError([] { ParseOptimizer("lars"); }, ErrorCode::kInvalidArgument,
              "optimizer 'lars': expected one of sgd, momentum, adam, adamw, "
              "rmsprop, adagrad, adafactor");
}

}  // namespace
}  // namespace foretell
