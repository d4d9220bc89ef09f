// If, Loop and sequences: what is unrolled, and what does not end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontends/onnx_tracing.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell::onnx {
namespace {

using testing::ElementsAre;

TEST(OnnxIf, RunsTheBranchThatTheHostKnows) {
  for (const bool condition : {true, false}) {
    const Node choice = MakeNode(
        "If", {"c"}, {"y"},
        {GraphAttribute("then_branch", Branch(MakeNode("Relu", {"x"}, {"t"}))),
         GraphAttribute("else_branch",
                        Branch(MakeNode("Tanh", {"x"}, {"e"})))});
    const Trace trace =
        TraceOf(MakeModel(GraphOf({choice}, {Bool("c", condition)})));
    EXPECT_THAT(TargetsOf(trace.graph),
                ElementsAre(condition ? "relu" : "tanh"));
  }
}

TEST(OnnxIf, AConditionThatDependsOnDataIsNamed) {
  const Node choice = MakeNode(
      "If", {"c"}, {"y"},
      {GraphAttribute("then_branch", Branch(MakeNode("Relu", {"x"}, {"t"}))),
       GraphAttribute("else_branch", Branch(MakeNode("Tanh", {"x"}, {"e"})))});
  const Model model = MakeModel(GraphOf(
      {MakeNode("ReduceMax", {"x"}, {"m"}, {IntAttribute("keepdims", 0)}),
       MakeNode("Cast", {"m"}, {"c"}, {IntAttribute("to", kOnnxBool)}), choice},
      {}));
  ExpectError([&] { TraceOf(model); }, ErrorCode::kUnsupported,
              "m.onnx: node 'y' (If): the condition depends on data");
  const Trace trace = TraceOf(model, {.device = TraceDevice::kCpu});
  EXPECT_EQ(OutputOf(trace), "f32[4,16]");
}

/// Adds `captured` to a carried value, `trips` times.
Model LoopModel(TensorLiteral trips, TensorLiteral go_on) {
  Graph body;
  body.name = "body";
  body.inputs = {AnyValue("i"), AnyValue("cond_in"), AnyValue("v")};
  body.nodes = {MakeNode("Identity", {"cond_in"}, {"cond_out"}),
                MakeNode("Add", {"v", "captured"}, {"v_out"})};
  body.outputs = {AnyValue("cond_out"), AnyValue("v_out")};
  return MakeModel(GraphOf({MakeNode("Relu", {"x"}, {"captured"}),
                            MakeNode("Loop", {trips.name, go_on.name, "x"},
                                     {"y"}, {GraphAttribute("body", body)})},
                           {trips, go_on}));
}

TEST(OnnxLoop, UnrollsWithCapturedNames) {
  const Trace trace = TraceOf(LoopModel(Ints("n", {}, {3}), Bool("c", true)));
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("relu", "add", "add", "add"));
}

TEST(OnnxLoop, DropsWhatAnIterationReplaces) {
  const Trace trace = TraceOf(LoopModel(Ints("n", {}, {3}), Bool("c", true)));
  const OperatorGraph& graph = trace.graph;
  EXPECT_EQ(DeathOf(graph, graph.node(1).outputs[0]), 2);
  EXPECT_EQ(DeathOf(graph, graph.node(2).outputs[0]), 3);
  EXPECT_EQ(DeathOf(graph, graph.node(0).outputs[0]), 3);  // captured
}

TEST(OnnxLoop, AnEndlessOneIsRefused) {
  const std::int64_t forever = std::int64_t{1} << 62;
  ExpectError(
      [&] { TraceOf(LoopModel(Ints("n", {}, {forever}), Bool("c", true))); },
      ErrorCode::kUnsupported, "m.onnx: node 'y' (Loop): ");
}

TEST(OnnxLoop, AnEndlessOneOverASequenceIsRefused) {
  Graph body;
  body.inputs = {AnyValue("i"), AnyValue("cond_in"), AnyValue("s")};
  body.nodes = {MakeNode("Identity", {"cond_in"}, {"cond_out"}),
                MakeNode("SequenceInsert", {"s", "x"}, {"s_out"})};
  body.outputs = {AnyValue("cond_out"), AnyValue("s_out")};
  const Model model = MakeModel(
      GraphOf({MakeNode("SequenceEmpty", {}, {"empty"}),
               MakeNode("Loop", {"n", "c", "empty"}, {"all"},
                        {GraphAttribute("body", body)}),
               MakeNode("ConcatFromSequence", {"all"}, {"y"},
                        {IntAttribute("axis", 0)})},
              {Ints("n", {}, {std::int64_t{1} << 62}), Bool("c", true)}));
  ExpectError([&] { TraceOf(model); }, ErrorCode::kUnsupported,
              "more than 200000 nodes");
}

TEST(OnnxLoop, CollectingOnTheHostDoesNotFillTheMemory) {
  TensorLiteral ones = Ints("", {1}, {1});
  Graph body;
  body.inputs = {AnyValue("i"), AnyValue("cond_in")};
  body.nodes = {MakeNode("Identity", {"cond_in"}, {"cond_out"}),
                MakeNode("ConstantOfShape", {"shape"}, {"v"},
                         {TensorAttribute("value", ones)})};
  body.outputs = {AnyValue("cond_out"), AnyValue("v")};
  const Model model = MakeModel(GraphOf(
      {MakeNode("Loop", {"n", "c"}, {"all"}, {GraphAttribute("body", body)}),
       MakeNode("Relu", {"x"}, {"y"})},
      {Ints("n", {}, {std::int64_t{1} << 62}), Bool("c", true),
       Ints("shape", {1}, {60000})}));
  ExpectError([&] { TraceOf(model); }, ErrorCode::kInvalidArgument,
              "on the host, together with the others there");
}

TEST(OnnxSequence, SplittingIntoCountlessPartsIsRefused) {
  Graph graph = GraphOf(
      {MakeNode("SplitToSequence", {"x"}, {"s"}),
       MakeNode("ConcatFromSequence", {"s"}, {"y"}, {IntAttribute("axis", 0)})},
      {});
  graph.inputs = {FloatValue("x", {Fixed(100'000'000), Fixed(2)})};
  ExpectError([&] { TraceAsGiven(MakeModel(graph)); }, ErrorCode::kUnsupported,
              "splits into 100000000 parts");
}

}  // namespace
}  // namespace foretell::onnx
