#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "foretell/graph_io.h"
#include "src/graph/text_quote.h"

namespace foretell {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string RoundTrip(const std::string& text) {
  return PrintGraph(ParseGraph(text), {.with_timeline = true});
}

/// Everything that the text form can say.
constexpr char kEverything[] =
    R"g(graph "all \"of\" it" mode=training precision=bf16 batch=8 optimizer="adam" parameters=99
%x = input bf16[8,3]
%labels = input i64[8]
%w = parameter bf16[4,3] bytes=4096
%tied = parameter bf16[12] alias %w
%"odd name%" = buffer f32[] label="statistics"
%m = optimizer_state f32[12]
inputs %labels, %x
%a = linear(%x, %w) : bf16[8,4] saved @ "head(Linear)"
%v = view(%a) {size=[32], p=0.5, flag=true, n=-3, s="a\n\x01b", ints=[], floats=floats[], list=[1.0, 2.5]} : bf16[32] alias %a
%max, %index = max(%a) : bf16[], i64[]
| %room = inner bf16[8,4] bytes=128
| %c, %"odd call" = "strange call"(%a, %room) {dim=1} : bf16[8,4] alias %room, f32[2]
| view(%c)
| %max, %index = amax(%"odd call", %c)
%s1, %s2 = split(%v) : bf16[16] alias %v, bf16[16] alias %v
%b1, %b2 = mylib::pair() : f32[2] bytes=16, f32[2] alias %b1
"strange op"(%x)
phase backward
%g = mm(%a, %x) : bf16[4,3] gradient
%t = relu(%g) : bf16[4,3] backward_temporary
phase optimizer
_fused_adam_(%w, %g, %m)
output %max, %max
timeline
scratch s0 optimizer_temporary bytes=1024 label="workspace"
scratch s1 activation bytes=0
start: +%x +%labels +%w +%"odd name%" +%m +s1
0: +%a
2: +%room +%"odd call" +%max +%index -%index -%"odd call" -%room
4: +%b1 -%b1
6: +%g
7: +%t -%t -%a
8: +s0 -s0 -s1 -%g
)g";

TEST(GraphText, PrintsBackExactlyWhatItParsed) {
  EXPECT_EQ(RoundTrip(kEverything), kEverything);
}

TEST(GraphText, KeepsEverythingOfTheGraph) {
  const OperatorGraph graph = ParseGraph(kEverything);
  EXPECT_EQ(graph.info().name, "all \"of\" it");
  EXPECT_EQ(graph.info().mode, Mode::kTraining);
  EXPECT_EQ(graph.info().precision, Precision::kBf16);
  EXPECT_EQ(graph.info().batch, 8);
  EXPECT_EQ(graph.info().optimizer, "adam");
  EXPECT_EQ(graph.ParameterElements(), 99);
  EXPECT_EQ(graph.value(graph.inputs()[0]).name, "labels");
  EXPECT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.node(0).scope, "head(Linear)");
  EXPECT_EQ(graph.node(6).phase, Phase::kBackward);
  EXPECT_EQ(graph.node(8).phase, Phase::kOptimizer);
  EXPECT_EQ(graph.value(3).storage, graph.value(2).storage);
  EXPECT_EQ(graph.storage(graph.value(2).storage).bytes, 4096);
  EXPECT_EQ(graph.storages().size(), 15u);
  const std::vector<Node>& calls = graph.node(2).calls;
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].target, "strange call");
  EXPECT_EQ(calls[0].Int("dim", 0), 1);
  EXPECT_EQ(calls[0].inputs.front(), graph.node(2).inputs.front());
  EXPECT_EQ(calls[2].outputs, graph.node(2).outputs);
  EXPECT_EQ(graph.value(calls[0].outputs.front()).producer, 2);
  EXPECT_EQ(graph.events().front().node, kNone);
}

TEST(GraphText, EscapesNamesThatCannotBePrinted) {
  const std::string name = R"(%"größe\xff\x1b[m\xe2\x80\xae")";
  const OperatorGraph graph = ParseGraph(name + " = input f32[2]");
  EXPECT_EQ(graph.value(0).name, "größe\xff\x1b[m\xe2\x80\xae");
  const std::string text = PrintGraph(graph);
  EXPECT_THAT(text, HasSubstr(name));
  EXPECT_EQ(ParseGraph(text).value(0).name, graph.value(0).name);
}

TEST(GraphText, KeepsHowTensorsLie) {
  constexpr char kText[] =
      R"(graph "strided" mode=inference precision=fp32 channels_last=on batch=1 parameters=512
%x = input f32[2,8,6,6] strides=[288, 1, 48, 8]
%w = parameter f32[64,8,1,1] strides=[8, 1, 8, 8]
%a = conv2d(%x, %w) : f32[2,64,6,6] strides=[2304, 1, 384, 64]
%m = masked_fill(%a) : f32[2,64,6,6] strides=[2304, 1, 384, 64]
| %i = inner f32[6,6] strides=[1, 6]
| %m = add(%a, %i)
%s = slice(%m) {dim=1, step=2} : f32[2,32,6,6] strides=[2304, 2, 384, 64] alias %m
%e = expand(%s) {size=[3, 2, 32, 6, 6]} : f32[3,2,32,6,6] strides=[0, 2304, 2, 384, 64] alias %s
)";
  const OperatorGraph graph = ParseGraph(kText);
  EXPECT_TRUE(graph.info().channels_last);
  EXPECT_EQ(PrintGraph(graph), kText);
  EXPECT_THAT(graph.value(0).strides, testing::ElementsAre(288, 1, 48, 8));
  EXPECT_THAT(GraphToJson(graph), HasSubstr(R"("strides":[288,1,48,8])"));
  // Row-major ones need no words.
  EXPECT_EQ(PrintGraph(ParseGraph("%x = input f32[2,3] strides=[3, 1]")),
            PrintGraph(ParseGraph("%x = input f32[2,3]")));
}

TEST(GraphText, KeepsTheTypesOfAttributes) {
  const OperatorGraph graph = ParseGraph(kEverything);
  const Node& view = graph.node(1);
  using Ints = std::vector<std::int64_t>;
  using Doubles = std::vector<double>;
  EXPECT_EQ(*view.FindAttribute("size"), Attribute(Ints{32}));
  EXPECT_EQ(*view.FindAttribute("p"), Attribute(0.5));
  EXPECT_EQ(*view.FindAttribute("flag"), Attribute(true));
  EXPECT_EQ(*view.FindAttribute("n"), Attribute(std::int64_t{-3}));
  EXPECT_EQ(*view.FindAttribute("s"), Attribute(std::string("a\n\x01"
                                                            "b")));
  EXPECT_EQ(*view.FindAttribute("ints"), Attribute(Ints{}));
  EXPECT_EQ(*view.FindAttribute("floats"), Attribute(Doubles{}));
  EXPECT_EQ(*view.FindAttribute("list"), Attribute(Doubles{1.0, 2.5}));
}

TEST(GraphText, HasShortFormsForHandwriting) {
  const OperatorGraph graph = ParseGraph(R"(
    # a comment
    %x = input f32[8,64,56,56]   # another
    %a = conv2d(%x, weight f32[64,64,3,3],
                buffer f32[64]) {stride=2,
                                 mask=[true, false]} : f32[8,64,28,28]
    output %a)");
  EXPECT_EQ(graph.info().batch, 1);
  EXPECT_EQ(graph.value(1).name, "a.weight1");
  EXPECT_EQ(graph.value(2).name, "a.buffer2");
  EXPECT_EQ(graph.ParameterElements(), 64 * 64 * 9);
  EXPECT_EQ(graph.node(0).Ints("stride", {}), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(graph.node(0).Ints("mask", {}), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(graph.inputs().size(), 1u);
}

TEST(GraphText, OfAnEmptyTextIsAnEmptyGraph) {
  EXPECT_TRUE(ParseGraph("").nodes().empty());
  EXPECT_TRUE(ParseGraph("\n  # nothing\n").values().empty());
}

TEST(GraphText, PrintsATimelineOnlyOnDemand) {
  const OperatorGraph graph = ParseGraph(kEverything);
  EXPECT_THAT(PrintGraph(graph), Not(HasSubstr("timeline")));
}

TEST(GraphText, DoesNotDependOnWhenSourcesWereMade) {
  GraphBuilder builder{GraphInfo{}};
  const StorageId storage = builder.AddStorage(4, TensorRole::kActivation);
  const NodeId node = builder.AddNode({.target = "zeros", .inputs = {}});
  builder.AddResult(node, "a", {}, storage);
  const StorageId late = builder.AddStorage(4, TensorRole::kBuffer);
  builder.AddSource("late", {}, late);
  builder.DeriveLifetimes();
  const std::string text = PrintGraph(builder.Build(), {.with_timeline = true});
  EXPECT_EQ(RoundTrip(text), text);
  EXPECT_LT(text.find("%late ="), text.find("%a ="));
}

TEST(GraphText, WrapsLongLinesOfEvents) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += "%v" + std::to_string(i) + " = buffer f32[]\n";
  }
  const std::string printed = RoundTrip(text);
  EXPECT_EQ(RoundTrip(printed), printed);
  EXPECT_THAT(printed, HasSubstr("start: +%v16 +%v17 +%v18 +%v19\n"));
}

TEST(DoubleText, ReadsBackAsTheSameDouble) {
  for (const double number : {0.1, 1e-5, 1.0, -2.0, 1e300, 5e-324}) {
    EXPECT_EQ(std::strtod(DoubleText(number).c_str(), nullptr), number);
  }
  EXPECT_EQ(DoubleText(1.0), "1.0");
  EXPECT_EQ(DoubleText(std::numeric_limits<double>::infinity()), "inf");
}

TEST(GraphText, KeepsInfinityAndNan) {
  const std::string text = RoundTrip("f() {a=inf, b=-inf, c=nan, d=[nan]}");
  EXPECT_THAT(text, HasSubstr("{a=inf, b=-inf, c=nan, d=[nan]}"));
  EXPECT_TRUE(std::isnan(
      std::get<double>(*ParseGraph(text).node(0).FindAttribute("c"))));
}

TEST(GraphText, KeepsTheLimitsOfInt64) {
  EXPECT_THAT(
      RoundTrip("f() {end=9223372036854775807, min=-9223372036854775808}"),
      HasSubstr("{end=9223372036854775807, min=-9223372036854775808}"));
}

}  // namespace
}  // namespace foretell
