// What an ONNX program says of itself, and what it refuses.

#include "frontends/onnx/onnx_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontends/onnx_tracing.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OnnxProgram, ReportsAllUnsupportedOperatorsTogether) {
  Node custom = MakeNode("Frobnicate", {"a"}, {"b"});
  custom.domain = "com.acme";
  const Model model = MakeModel(GraphOf(
      {MakeNode("Quux", {"x"}, {"a"}), custom, MakeNode("Quux", {"b"}, {"y"})},
      {}));
  ExpectError([&] { MakeProgram(model); }, ErrorCode::kUnsupported,
              "m.onnx: operators that are not supported: ai.onnx::Quux at "
              "version 17 (first at node 'a', 2 in all); com.acme::Frobnicate "
              "at version 1 (first at node 'b', 1 in all)");
}

TEST(OnnxProgram, LooksForUnsupportedOperatorsInsideBodies) {
  const Node choice = MakeNode(
      "If", {"c"}, {"y"},
      {GraphAttribute("then_branch", Branch(MakeNode("Quux", {"x"}, {"t"}))),
       GraphAttribute("else_branch", Branch(MakeNode("Tanh", {"x"}, {"e"})))});
  ExpectError(
      [&] { MakeProgram(MakeModel(GraphOf({choice}, {Bool("c", true)}))); },
      ErrorCode::kUnsupported, "Quux");
}

TEST(OnnxProgram, OperatorsThatDependOnDataAreReportedAtOnce) {
  const Model model = MakeModel(GraphOf(
      {MakeNode("NonZero", {"x"}, {"n"}), MakeNode("Unique", {"x"}, {"u"}),
       MakeNode("Relu", {"x"}, {"y"})},
      {}));
  ExpectError([&] { TraceOf(model); }, ErrorCode::kUnsupported,
              "may refuse in this file, too: Unique");
}

TEST(OnnxProgram, ErrorsNameFileNodeAndOperator) {
  ExpectError(
      [] {
        TraceOf(MakeModel(GraphOf({MakeNode("Add", {"x", "w"}, {"y"})},
                                  {Weight("w", {15})})));
      },
      ErrorCode::kInvalidArgument, "m.onnx: node 'y' (Add): ");
  ExpectError(
      [] {
        TraceOf(MakeModel(GraphOf({MakeNode("Reshape", {"x", "shape"}, {"y"})},
                                  {Ints("shape", {1}, {7})})));
      },
      ErrorCode::kInvalidArgument, "m.onnx: node 'y' (Reshape): ");
}

TEST(OnnxProgram, ErrorsOfAFusedNodeNameTheNodesOfTheFile) {
  ExpectError(
      [] {
        TraceOf(MakeModel(GraphOf({MakeNode("MatMul", {"x", "w"}, {"fc"}),
                                   MakeNode("Add", {"fc", "b"}, {"y"})},
                                  {Weight("w", {15, 8}), Weight("b", {8})})));
      },
      ErrorCode::kInvalidArgument, "m.onnx: MatMul 'fc' + Add 'y': ");
}

TEST(OnnxProgram, QuantisedWeightsAreInMemoryAndMentioned) {
  TensorLiteral quantised = Weight("q", {16, 8});
  quantised.data_type = 3;  // INT8
  const Trace trace = TraceOf(
      MakeModel(GraphOf({MakeNode("DequantizeLinear", {"q", "scale"}, {"w"}),
                         MakeNode("MatMul", {"x", "w"}, {"y"})},
                        {quantised, Floats("scale", {}, {0.5F})})));
  EXPECT_THAT(
      trace.warnings,
      testing::Contains(HasSubstr("128 weights of type i8 (128 bytes)")));
  EXPECT_GE(BytesOfRole(trace.graph, TensorRole::kParameter) +
                BytesOfRole(trace.graph, TensorRole::kBuffer),
            128);
}

TEST(OnnxProgram, FourBitsAreHalfAByteAndUnpackedByOneKernel) {
  TensorLiteral quantised = Weight("q", {16, 8});
  quantised.data_type = 22;  // INT4
  const Trace trace = TraceOf(
      MakeModel(GraphOf({MakeNode("DequantizeLinear", {"q", "scale"}, {"w"}),
                         MakeNode("MatMul", {"x", "w"}, {"y"})},
                        {quantised, Floats("scale", {}, {0.5F})})));
  EXPECT_THAT(trace.warnings,
              testing::Contains(HasSubstr("64 weights of type i8 (64 bytes)")));
  EXPECT_LT(BytesOfRole(trace.graph, TensorRole::kParameter) +
                BytesOfRole(trace.graph, TensorRole::kBuffer),
            128);
  EXPECT_EQ(trace.graph.node(0).target, "awq::dequantize");
  EXPECT_EQ(ToString(trace.graph.value(trace.graph.node(0).outputs[0]).type),
            "f32[16,8]");
}

// [8, 16] numbers in 64 bytes; the product is that of the plain layer.
TEST(OnnxProgram, WeightsOfFewBitsStayPacked) {
  TensorLiteral packed = Weight("q", {8, 1, 8});
  packed.data_type = 2;  // UINT8
  Node product = MakeNode("MatMulNBits", {"x", "q", "scales"}, {"y"});
  product.domain = "com.microsoft";
  product.attributes = {IntAttribute("K", 16), IntAttribute("N", 8),
                        IntAttribute("bits", 4),
                        IntAttribute("block_size", 16)};
  const Trace trace = TraceOf(
      MakeModel(GraphOf({product}, {packed, Weight("scales", {8, 1})})));
  std::vector<std::string> targets;
  for (const foretell::Node& node : trace.graph.nodes()) {
    targets.push_back(node.target);
  }
  EXPECT_EQ(targets, (std::vector<std::string>{"awq::dequantize", "linear"}));
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kParameter) +
                BytesOfRole(trace.graph, TensorRole::kBuffer),
            64 + 8 * 4);
}

TEST(OnnxProgram, AnUndefinedOutputIsNamed) {
  ExpectError(
      [] { TraceOf(MakeModel(GraphOf({MakeNode("Relu", {"x"}, {"a"})}, {}))); },
      ErrorCode::kCorrupt, "output 'y' is defined by no node");
}

TEST(OnnxProgram, InitializersOfTheWrongSizeAreNamed) {
  TensorLiteral broken = Ints("shape", {2}, {8, 8});
  broken.bytes.resize(3);
  ExpectError(
      [&] {
        TraceOf(MakeModel(
            GraphOf({MakeNode("Reshape", {"x", "shape"}, {"y"})}, {broken})));
      },
      ErrorCode::kCorrupt, "initializer 'shape': has 3 bytes");
}

TEST(OnnxProgram, InputsThatAreInitializersAreNotAsked) {
  Graph graph =
      GraphOf({MakeNode("MatMul", {"x", "w"}, {"y"})}, {Weight("w", {16, 8})});
  graph.inputs.push_back(FloatValue("w", {Fixed(16), Fixed(8)}));
  const Program program = MakeProgram(MakeModel(graph));
  ASSERT_EQ(program.inputs().size(), 1u);
  EXPECT_EQ(program.inputs()[0].name, "x");
  EXPECT_EQ(program.inputs()[0].dims->at(0).symbol, "batch");
}

TEST(OnnxProgram, RefusesOperatorsOfAVersionThatNobodyHasSeen) {
  const auto load = [](std::int64_t opset) {
    return MakeProgram(
        MakeModel(GraphOf({MakeNode("Relu", {"x"}, {"y"})}, {}), opset));
  };
  EXPECT_EQ(load(28).inputs().size(), 1u);
  ExpectError([&] { load(29); }, ErrorCode::kUnsupported,
              "imports version 29 of ai.onnx, expected at most 28");
}

TEST(OnnxProgram, CountsTheOutputsOfASplitBeforeItMakesThem) {
  Node split = MakeNode("Split", {"x"}, {"y"});
  split.attributes.push_back(IntAttribute("num_outputs", 1'000'000'000));
  ExpectError(
      [&] { TraceOf(MakeModel(GraphOf({split}, {}), 18)); },
      ErrorCode::kCorrupt,
      "num_outputs is 1000000000, expected 1, the node's number of outputs");
}

TEST(OnnxProgram, NamesEveryOutputAsTheFileDoes) {
  Graph graph = GraphOf(
      {MakeNode("Relu", {"x"}, {"y"}), MakeNode("Shape", {"x"}, {"shape"}),
       MakeNode("SplitToSequence", {"x"}, {"parts"})},
      {});
  graph.outputs = {AnyValue("shape"), AnyValue("parts"), AnyValue("y")};
  EXPECT_THAT(DescribeOutputs(TraceOf(MakeModel(graph))),
              ElementsAre("shape=i64[2] on the host", "parts.0=f32[1,16]",
                          "parts.1=f32[1,16]", "parts.2=f32[1,16]",
                          "parts.3=f32[1,16]", "y=f32[4,16]"));
}

/// A model exported at batch 1 whose Reshape has swallowed the batch.
Model BakedModel(std::vector<std::int64_t> shape) {
  Graph graph = GraphOf({MakeNode("Reshape", {"x", "shape"}, {"y"})},
                        {Ints("shape", {2}, std::move(shape))});
  graph.inputs = {FloatValue("x", {Fixed(1), Fixed(4), Fixed(4)})};
  graph.outputs = {FloatValue("y", {Fixed(1), Fixed(16)})};
  return MakeModel(graph);
}

TEST(OnnxProgram, ABakedBatchIsAnErrorNotAWrongAnswer) {
  ExpectError(
      [] {
        TraceOf(BakedModel({1, -1}));
      },
      ErrorCode::kInvalidArgument,
      "output 'y' has leading dimension 1 at batch 4: the batch of 1 "
      "is baked into the graph");
  EXPECT_EQ(OutputOf(TraceOf(BakedModel({-1, 16}))), "f32[4,16]");
}

TEST(OnnxProgram, WarnsOfTrainingAnInferenceExport) {
  Graph graph = GraphOf({MakeNode("Conv", {"x", "w"}, {"y"})},
                        {Weight("w", {8, 3, 3, 3})});
  graph.inputs = {
      FloatValue("x", {Symbol("batch"), Fixed(3), Fixed(8), Fixed(8)})};
  const Program program = MakeProgram(MakeModel(graph));
  EXPECT_TRUE(program.warnings(Mode::kInference).empty());
  EXPECT_THAT(program.warnings(Mode::kTraining),
              ElementsAre(HasSubstr("batch norms"), HasSubstr("dropout")));
}

TEST(OnnxProgram, TrainsEveryFloatInitializer) {
  const Trace trace = TraceOf(
      MakeModel(GraphOf(
          {MakeNode("Gemm", {"x", "w", "b"}, {"h"}),
           MakeNode("Relu", {"h"}, {"r"}),
           MakeNode("MatMul", {"r", "v"}, {"y"})},
          {Weight("w", {16, 8}), Weight("b", {8}), Weight("v", {8, 2})})),
      {.run = {.mode = Mode::kTraining, .optimizer = Optimizer::kAdam}});
  const std::int64_t bytes = (16 * 8 + 8 + 8 * 2) * 4;
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kGradient), 2 * bytes);
  EXPECT_EQ(BytesOfRole(trace.graph, TensorRole::kOptimizerState), 2 * bytes);
}

}  // namespace
}  // namespace foretell::onnx
