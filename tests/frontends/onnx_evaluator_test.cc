// How an ONNX graph runs: what lives where, and for how long.

#include "frontends/onnx/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/onnx/reader/liveness.h"
#include "tests/frontends/onnx_tracing.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell::onnx {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// ---- Types ------------------------------------------------------------------

TEST(OnnxEvaluator, LeavesTypesOfResultsToAutocast) {
  const Trace trace = TraceOf(
      MakeModel(GraphOf(
          {MakeNode("MatMul", {"x", "w"}, {"a"}),
           MakeNode("LayerNormalization", {"a", "scale", "bias"}, {"b"}),
           MakeNode("Gemm", {"b", "v"}, {"c"}),
           MakeNode("Pow", {"c", "two"}, {"d"}),
           MakeNode("ReduceSum", {"c", "axes"}, {"e"}),
           MakeNode("Add", {"d", "e"}, {"y"})},
          {Weight("w", {16, 8}), Weight("scale", {8}), Weight("bias", {8}),
           Weight("v", {8, 8}), Floats("two", {}, {2}),
           Ints("axes", {1}, {1})})),
      {.run = {.autocast = true}});
  EXPECT_THAT(TargetsOf(trace.graph),
              ElementsAre("to", "to", "linear", "to", "layer_norm", "to", "to",
                          "mm", "to", "pow", "sum", "add"));
  for (const foretell::Node& node : trace.graph.nodes()) {
    EXPECT_EQ(node.Int(kAutocastAttribute, 0) != 0, node.target == "to");
  }
  EXPECT_EQ(OutputOf(trace), "f32[4,8]");
}

// timm's norms are `x.square().float().mean().to(x.dtype)`: an export in FP32
// has a cast for the first of the two alone.
TEST(OnnxEvaluator, LeavesOutCastsToTheTypeOfAnExportInFloat) {
  const std::vector<Node> nodes = {
      MakeNode("MatMul", {"x", "w"}, {"a"}), MakeNode("Mul", {"a", "a"}, {"b"}),
      MakeNode("Cast", {"b"}, {"c"}, {IntAttribute("to", kOnnxFloat)}),
      MakeNode("Mul", {"a", "c"}, {"y"})};
  const Trace trace = TraceOf(MakeModel(GraphOf(nodes, {Weight("w", {16, 8})})),
                              {.run = {.autocast = true}});
  EXPECT_THAT(TargetsOf(trace.graph),
              ElementsAre("to", "to", "linear", "mul", "mul"));
  EXPECT_EQ(OutputOf(trace), "f16[4,8]");
}

// ---- Lifetimes --------------------------------------------------------------

TEST(Liveness, ANameDiesAfterItsLastReader) {
  const std::vector<Node> nodes = {MakeNode("Relu", {"x"}, {"a"}),
                                   MakeNode("Tanh", {"a"}, {"b"}),
                                   MakeNode("Add", {"a", "b"}, {"y"})};
  const Liveness liveness(nodes, {"y"});
  EXPECT_THAT(liveness.dying_after(0), ElementsAre("x"));
  EXPECT_THAT(liveness.dying_after(1), ElementsAre());
  EXPECT_THAT(liveness.dying_after(2), UnorderedElementsAre("a", "b"));
}

TEST(Liveness, AResultThatNobodyReadsDiesAtOnce) {
  const std::vector<Node> nodes = {MakeNode("Split", {"x"}, {"a", "b"}),
                                   MakeNode("Relu", {"a"}, {"y"})};
  const Liveness liveness(nodes, {"y"});
  EXPECT_THAT(liveness.dying_after(0), UnorderedElementsAre("x", "b"));
}

TEST(Liveness, WhatAnInnerGraphCapturesIsReadByItsNode) {
  Graph branch;
  branch.nodes = {MakeNode("Relu", {"captured"}, {"r"})};
  branch.outputs = {AnyValue("given")};
  const std::vector<Node> nodes = {
      MakeNode("If", {"c"}, {"a"}, {GraphAttribute("then_branch", branch)}),
      MakeNode("Relu", {"a"}, {"y"})};
  const Liveness liveness(nodes, {"y"});
  EXPECT_THAT(liveness.dying_after(0),
              UnorderedElementsAre("c", "captured", "given"));
}

TEST(OnnxEvaluator, ValuesDieAsEagerCodeWouldDropThem) {
  const Trace trace = TraceOf(MakeModel(GraphOf(
      {MakeNode("Relu", {"x"}, {"a"}), MakeNode("Tanh", {"a"}, {"b"}),
       MakeNode("Sigmoid", {"b"}, {"c"}), MakeNode("Add", {"a", "c"}, {"y"})},
      {})));
  const OperatorGraph& graph = trace.graph;
  EXPECT_EQ(DeathOf(graph, graph.node(0).outputs[0]), 3);
  EXPECT_EQ(DeathOf(graph, graph.node(1).outputs[0]), 2);
  EXPECT_EQ(DeathOf(graph, graph.node(3).outputs[0]), kNone);
  EXPECT_EQ(graph.node(2).scope, "c");
}

// ---- Parameters, buffers, constants -----------------------------------------

TEST(OnnxEvaluator, FloatInitializersAreParametersAndOthersBuffers) {
  const std::int64_t rows = 512;
  std::vector<std::int64_t> many(static_cast<std::size_t>(rows), 1);
  TensorLiteral index = Ints("index", {rows}, many);
  index.payload = TensorLiteral::Payload::kSkipped;
  const Trace trace = TraceOf(MakeModel(GraphOf(
      {MakeNode("MatMul", {"x", "w"}, {"a"}),
       MakeNode("Gather", {"a", "index"}, {"y"}, {IntAttribute("axis", 1)})},
      {Weight("w", {16, 8}), index})));
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), 16 * 8 * 4);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), rows * 8);
  EXPECT_EQ(trace.graph.ParameterElements(), 16 * 8);
  EXPECT_EQ(OutputOf(trace), "f32[4,512]");
}

TEST(OnnxEvaluator, RunningStatisticsAreBuffers) {
  Graph graph =
      GraphOf({MakeNode("BatchNormalization",
                        {"x", "scale", "bias", "mean", "var"}, {"y"})},
              {Weight("scale", {16}), Weight("bias", {16}),
               Weight("mean", {16}), Weight("var", {16})});
  const Trace trace =
      TraceOf(MakeModel(graph), {.run = {.mode = Mode::kTraining}});
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), 2 * 64);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 2 * 64);
}

/// Exporters store the ones and zeros of an untrained batch norm once.
TEST(OnnxEvaluator, TrainsWeightsThatAreStatisticsToo) {
  const std::vector<TensorLiteral> weights = {Weight("scale", {16}),
                                              Weight("bias", {16})};
  const Trace direct =
      TraceOf(MakeModel(GraphOf(
                  {MakeNode("BatchNormalization",
                            {"x", "scale", "bias", "bias", "scale"}, {"y"})},
                  weights)),
              {.run = {.mode = Mode::kTraining}});
  EXPECT_EQ(BytesOfRole(direct.graph, TensorRole::kGradient), 2 * 2 * 64);

  const Trace by_identity =
      TraceOf(MakeModel(GraphOf(
                  {MakeNode("Identity", {"bias"}, {"mean"}),
                   MakeNode("Identity", {"scale"}, {"var"}),
                   MakeNode("BatchNormalization",
                            {"x", "scale", "bias", "mean", "var"}, {"y"})},
                  weights)),
              {.run = {.mode = Mode::kTraining}});
  EXPECT_EQ(BytesOfRole(by_identity.graph, TensorRole::kGradient), 2 * 2 * 64);
}

TEST(OnnxEvaluator, SmallIntegersStayOnTheHost) {
  const Trace trace =
      TraceOf(MakeModel(GraphOf({MakeNode("Reshape", {"x", "shape"}, {"y"})},
                                {Ints("shape", {2}, {8, 8})})));
  EXPECT_EQ(OutputOf(trace), "f32[8,8]");
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 0);
}

TEST(OnnxEvaluator, AScalarConstantTakesNoDeviceMemory) {
  const Trace trace = TraceOf(MakeModel(GraphOf(
      {MakeNode("Mul", {"x", "half"}, {"y"})}, {Floats("half", {}, {0.5f})})));
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("mul"));
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), 0);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 0);
}

TEST(OnnxEvaluator, AVectorConstantIsOnTheDeviceOnce) {
  const Trace trace = TraceOf(MakeModel(GraphOf(
      {MakeNode("Add", {"x", "v"}, {"a"}), MakeNode("Mul", {"a", "v"}, {"y"})},
      {Floats("v", {16}, std::vector<float>(16, 2.0f))})));
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), 64);
  EXPECT_EQ(trace.graph.node(0).inputs[1], trace.graph.node(1).inputs[1]);
}

TEST(OnnxEvaluator, ConstantNodesAreBuffers) {
  const Trace trace = TraceOf(MakeModel(GraphOf(
      {MakeNode("Constant", {}, {"k"},
                {TensorAttribute("value",
                                 Floats("", {2, 16}, std::vector<float>(32)))}),
       MakeNode("Slice", {"x", "zero", "two"}, {"part"}),
       MakeNode("Add", {"part", "k"}, {"y"})},
      {Ints("zero", {1}, {0}), Ints("two", {1}, {2})})));
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kBuffer), 2 * 16 * 4);
  EXPECT_EQ(trace.graph.ParameterElements(), 0);
}

TEST(OnnxEvaluator, WeightsFollowThePrecision) {
  const Model model = MakeModel(
      GraphOf({MakeNode("MatMul", {"x", "w"}, {"y"})}, {Weight("w", {16, 8})}));
  const Trace trace = TraceOf(model, {.run = {.precision = Precision::kBf16}});
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter), 16 * 8 * 2);
  EXPECT_EQ(OutputOf(trace), "bf16[4,8]");
}

TEST(OnnxEvaluator, ANumberDoesNotWidenAWhereOfNumbers) {
  const Model model = MakeModel(
      GraphOf({MakeNode("Less", {"x", "zero"}, {"c"}),
               MakeNode("Where", {"c", "zero", "low"}, {"m"}),
               MakeNode("Where", {"c", "low", "zero"}, {"n"}),
               MakeNode("Add", {"m", "n"}, {"y"})},
              {Floats("zero", {}, {0.0f}), Floats("low", {}, {-3e38f})}));
  EXPECT_EQ(OutputOf(TraceOf(model, {.run = {.precision = Precision::kFp16}})),
            "f16[4,16]");
}

TEST(OnnxEvaluator, InputsOfStringsAreRefused) {
  Graph graph = GraphOf({MakeNode("Identity", {"x"}, {"y"})}, {});
  graph.inputs[0].type.elem_type = 8;
  Model model = MakeModel(graph);
  ExpectError([&] { MakeProgram(std::move(model)); }, ErrorCode::kUnsupported,
              "input 'x' has elements of type STRING");
}

// x [4, 16] as 2 steps of 2 sequences, hidden size 3 in both directions: 4
// tokens times 2 · (9 · 16 + 9 · 3) weights.
TEST(OnnxEvaluator, RecurrentWeightsThatTheGraphMakesAreCounted) {
  Attribute direction;
  direction.name = "direction";
  direction.kind = Attribute::Kind::kString;
  direction.s = "bidirectional";
  const auto macs = [&](const std::string& w) {
    const Trace trace = TraceOf(
        MakeModel(GraphOf({MakeNode("Reshape", {"x", "shape"}, {"steps"}),
                           MakeNode("Neg", {"w"}, {"made"}),
                           MakeNode("GRU", {"steps", w, "r"}, {"h"},
                                    {IntAttribute("hidden_size", 3), direction,
                                     IntAttribute("linear_before_reset", 1)}),
                           MakeNode("Relu", {"h"}, {"y"})},
                          {Weight("w", {2, 9, 16}), Weight("r", {2, 9, 3}),
                           Ints("shape", {3}, {2, 2, 16})})));
    return trace.graph.ForwardMacs();
  };
  EXPECT_EQ(macs("w"), 4 * 2 * (9 * 16 + 9 * 3));
  EXPECT_EQ(macs("made"), macs("w"));
}

// ---- Shape arithmetic -------------------------------------------------------

TEST(OnnxEvaluator, FoldsShapeArithmeticWithoutAPass) {
  const Trace trace = TraceOf(MakeModel(GraphOf(
      {MakeNode("Shape", {"x"}, {"s"}),
       MakeNode("Gather", {"s", "zero"}, {"n"}, {IntAttribute("axis", 0)}),
       MakeNode("Unsqueeze", {"n", "axes"}, {"n1"}),
       MakeNode("Concat", {"n1", "rest"}, {"shape"}, {IntAttribute("axis", 0)}),
       MakeNode("Reshape", {"x", "shape"}, {"y"})},
      {Ints("zero", {}, {0}), Ints("axes", {1}, {0}),
       Ints("rest", {2}, {4, -1})})));
  EXPECT_EQ(OutputOf(trace), "f32[4,4,4]");
  ASSERT_EQ(trace.graph.nodes().size(), 1u) << "arithmetic was recorded";
}

TEST(OnnxEvaluator, RangesAndFilledTensorsOfTheHostKeepTheirValues) {
  const Trace trace = TraceOf(MakeModel(GraphOf(
      {MakeNode("Range", {"a", "b", "c"}, {"r"}),  // 2, 3
       MakeNode("ConstantOfShape", {"two"}, {"k"},
                {TensorAttribute("value", Ints("", {1}, {2}))}),  // 2, 2
       MakeNode("Mul", {"r", "k"}, {"p"}),                        // 4, 6
       MakeNode("Add", {"p", "d"}, {"shape"}),                    // 4, 16
       MakeNode("Reshape", {"x", "shape"}, {"y"})},
      {Ints("a", {}, {2}), Ints("b", {}, {4}), Ints("c", {}, {1}),
       Ints("two", {1}, {2}), Ints("d", {2}, {0, 10})})));
  EXPECT_EQ(OutputOf(trace), "f32[4,16]");
}

TEST(OnnxEvaluator, LargeRangesGoToTheDevice) {
  const Trace trace = TraceOf(MakeModel(GraphOf(
      {MakeNode("Range", {"a", "b", "c"}, {"r"}),
       MakeNode("Cast", {"r"}, {"f"}, {IntAttribute("to", kOnnxFloat)}),
       MakeNode("ReduceSum", {"f"}, {"s"}), MakeNode("Add", {"x", "s"}, {"y"})},
      {Ints("a", {}, {0}), Ints("b", {}, {100'000}), Ints("c", {}, {1})})));
  EXPECT_THAT(TargetsOf(trace.graph), testing::Contains("arange"));
}

TEST(OnnxEvaluator, ATableOfIndicesThatBroadcastsWideGoesToTheDevice) {
  // [40000, 1] + [40000] is 1.6e9 positions, 13 GB if it stayed on the host.
  const Trace trace = TraceOf(MakeModel(GraphOf(
      {MakeNode("Range", {"a", "b", "c"}, {"r"}),
       MakeNode("Unsqueeze", {"r", "axes"}, {"rows"}),
       MakeNode("Add", {"rows", "r"}, {"table"}),
       MakeNode("Cast", {"table"}, {"f"}, {IntAttribute("to", kOnnxFloat)}),
       MakeNode("ReduceSum", {"f"}, {"s"}), MakeNode("Add", {"x", "s"}, {"y"})},
      {Ints("a", {}, {0}), Ints("b", {}, {40'000}), Ints("c", {}, {1}),
       Ints("axes", {1}, {1})})));
  EXPECT_THAT(TargetsOf(trace.graph), testing::Contains("add"));
  EXPECT_EQ(OutputOf(trace), "f32[4,16]");
}

// ---- Functions --------------------------------------------------------------

/// local::Leaky(v; slope axis…) with an Int attribute `axis`, default 1.
Model ModelWithFunction(std::vector<Attribute> given) {
  Node call = MakeNode("Norm", {"x"}, {"y"}, std::move(given));
  call.domain = "local";
  Model model = MakeModel(GraphOf({call}, {}));
  model.opset_imports["local"] = 1;
  Function function;
  function.name = "Norm";
  function.domain = "local";
  function.inputs = {"v", "absent"};
  function.outputs = {"r"};
  function.attribute_protos = {IntAttribute("along", 1)};
  function.opset_imports = {{"", 17}};
  function.nodes = {
      MakeNode("Softmax", {"v"}, {"s"}, {ReferenceAttribute("axis", "along")}),
      MakeNode("Relu", {"s"}, {"r"})};
  model.functions = {function};
  return model;
}

TEST(OnnxFunction, TakesTheAttributeOfItsCaller) {
  const Trace trace = TraceOf(ModelWithFunction({IntAttribute("along", 0)}));
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("softmax", "relu"));
  EXPECT_EQ(trace.graph.node(0).Int("dim", -9), 0);
  EXPECT_EQ(trace.graph.node(0).scope, "y/s");
}

TEST(OnnxFunction, FallsBackToItsDefault) {
  EXPECT_EQ(TraceOf(ModelWithFunction({})).graph.node(0).Int("dim", -9), 1);
}

TEST(OnnxFunction, DoesNotSeeTheNamesOfItsCaller) {
  Model model = ModelWithFunction({});
  model.functions[0].nodes[1] = MakeNode("Relu", {"x"}, {"r"});
  ExpectError([&] { TraceOf(model); }, ErrorCode::kCorrupt,
              "m.onnx: node 'r' (Relu): input 'x' is defined by no node");
}

TEST(OnnxFunction, EndlessRecursionIsRefused) {
  Model model = ModelWithFunction({});
  Node call = MakeNode("Norm", {"v"}, {"r"});
  call.domain = "local";
  model.functions[0].nodes = {call};
  model.functions[0].opset_imports["local"] = 1;
  ExpectError([&] { TraceOf(model); }, ErrorCode::kUnsupported,
              "nest more than 64 deep");
}

}  // namespace
}  // namespace foretell::onnx
