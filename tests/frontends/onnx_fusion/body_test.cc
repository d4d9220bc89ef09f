#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "frontends/onnx/fusion/body.h"
#include "frontends/onnx/fusion/fuse.h"
#include "tests/frontends/onnx_fusion/model_builder.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// An If whose both branches are `branch`.
void AddIf(ModelBuilder& m, const Graph& branch) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::kGraph;
  attribute.graphs = {std::make_shared<const Graph>(branch)};
  attribute.name = "then_branch";
  Attribute other = attribute;
  other.name = "else_branch";
  m.Output(m.Op("If", {m.BoolInput({})}, {attribute, other}));
}

/// A graph without inputs that multiplies the outer `x` by its sigmoid.
Graph SiluOfOuter(const std::string& x) {
  ModelBuilder inner;
  const std::string sigmoid = inner.Op("Sigmoid", {x});
  inner.Output(inner.Op("Mul", {x, sigmoid}));
  return inner.model().graph;
}

TEST(FusionBody, PatternsInsideOfHeldGraphsAreReplaced) {
  ModelBuilder m;
  AddIf(m, SiluOfOuter(m.Input({2, 3})));
  const Model rewritten = RecogniseFusedPatterns(m.model());
  const Node& branches = rewritten.graph.nodes.front();
  for (const Attribute& branch : branches.attributes) {
    ASSERT_EQ(branch.graphs.front()->nodes.size(), 1);
    EXPECT_EQ(branch.graphs.front()->nodes.front().op_type, "Silu");
  }
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(FusionBody, AValueThatAHeldGraphReadsKeepsItsPattern) {
  ModelBuilder m;
  const std::string x = m.Input({2, 3});
  const std::string sigmoid = m.Op("Sigmoid", {x});
  m.Output(m.Op("Mul", {x, sigmoid}));
  ModelBuilder inner;
  inner.Output(inner.Op("Relu", {sigmoid}));
  AddIf(m, inner.model().graph);
  EXPECT_THAT(Fused(m.model()), IsEmpty());
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(FusionBody, HeldGraphsSeeWeightsOfTheGraphAroundThem) {
  ModelBuilder m;
  const std::string x = m.Input({2, 5, 8});
  const std::string weight = m.RandomWeight({8, 3});
  ModelBuilder inner;
  inner.Output(inner.Op("MatMul", {x, weight}));
  AddIf(m, inner.model().graph);
  const Model rewritten = RecogniseFusedPatterns(m.model());
  const Node& branches = rewritten.graph.nodes.front();
  EXPECT_EQ(branches.attributes[0].graphs.front()->nodes[0].op_type, "Linear");
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(FusionBody, AHeldGraphThatIsRewrittenReadsWhatIsLeftOfIt) {
  ModelBuilder m;
  const std::string x = m.Input({2, 3});
  AddIf(m, SiluOfOuter(x));
  Body body(m.model().graph.nodes,
            {.initializers = {}, .inputs = {x}, .outputs = {}});
  EXPECT_FALSE(body.IsReadNoMore(x));
  body.RewriteGraphsOf(0, [](Graph& held) { held.nodes.resize(1); });
  EXPECT_FALSE(body.IsReadNoMore(x));
  body.RewriteGraphsOf(0, [](Graph& held) { held.nodes.clear(); });
  EXPECT_TRUE(body.IsReadNoMore(x));
  EXPECT_FALSE(body.IsReadNoMore("never read"));
}

TEST(FusionBody, PatternsInFunctionBodiesAreReplaced) {
  ModelBuilder m;
  Function function;
  function.name = "activation";
  function.domain = "local";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.opset_imports = {{"", 17}};
  Node sigmoid;
  sigmoid.op_type = "Sigmoid";
  sigmoid.inputs = {"a"};
  sigmoid.outputs = {"s"};
  Node product;
  product.op_type = "Mul";
  product.inputs = {"a", "s"};
  product.outputs = {"b"};
  function.nodes = {sigmoid, product};
  m.model().functions.push_back(function);
  m.model().opset_imports["local"] = 1;
  m.Output(m.Op("activation", {m.Input({2, 3})}));
  m.model().graph.nodes.back().domain = "local";
  const Model rewritten = RecogniseFusedPatterns(m.model());
  ASSERT_EQ(rewritten.functions[0].nodes.size(), 1);
  EXPECT_EQ(rewritten.functions[0].nodes[0].op_type, "Silu");
  EXPECT_TRUE(ComputesTheSame(m.model()));
}

TEST(FusionBody, NothingChangesWhenFusionIsOff) {
  ModelBuilder m;
  const std::string x = m.Input({2, 3});
  m.Output(m.Op("Mul", {x, m.Op("Sigmoid", {x})}));
  EXPECT_THAT(Rewritten(m.model(), Fusion::kOff),
              ElementsAre("Sigmoid", "Mul"));
}

TEST(FusionBody, NodesThatWereUnreadBeforeStay) {
  ModelBuilder m;
  const std::string x = m.Input({2, 3});
  m.Op("Relu", {x});
  m.Output(m.Op("Mul", {x, m.Op("Sigmoid", {x})}));
  EXPECT_THAT(Rewritten(m.model()), ElementsAre("Relu", "foretell.Silu"));
}

TEST(FusionBody, OperatorsOfOtherDomainsAreNotTakenForOnnx) {
  ModelBuilder m;
  const std::string x = m.Input({2, 3});
  const std::string sigmoid = m.Op("Sigmoid", {x});
  m.model().graph.nodes.back().domain = "com.example";
  m.Output(m.Op("Mul", {x, sigmoid}));
  EXPECT_THAT(Fused(m.model()), IsEmpty());
}

TEST(FusionBody, NodesWithoutInputsOrOutputsAreNoPatterns) {
  for (const char* op : {"Add", "Div", "MatMul", "Mul", "Reshape", "Split",
                         "Softmax", "Where", "Sqrt", "Trilu"}) {
    ModelBuilder m;
    const std::string bare = m.Op(op, {});
    const std::string product = m.Op("MatMul", {m.Op("Softmax", {bare}), bare});
    m.Output(m.Op("Mul", {m.Op("Div", {product, bare}), m.Number(0.5)}));
    m.Op(op, {bare});
    m.model().graph.nodes.back().outputs = {""};
    m.Op(op, {bare, bare});
    m.model().graph.nodes.back().outputs.clear();
    EXPECT_NO_THROW(RecogniseFusedPatterns(m.model(), Fusion::kEquivalent));
  }
}

TEST(FusionBody, ShapeArithmeticNeverDependsOnData) {
  ModelBuilder m;
  const std::string x = m.Input({2, 3});
  const std::string size =
      m.Op("Cast", {m.Op("Shape", {x})}, {MakeInt("to", kOnnxFloat)});
  const std::string known = m.Op("Sqrt", {m.Op("Mul", {size, m.Number(2)})});
  const std::string unknown = m.Op("Mul", {size, x});
  const std::string large = m.RandomWeight({3, 3});
  const Body body(m.model().graph.nodes,
                  {.initializers = m.model().graph.initializers,
                   .inputs = {x},
                   .outputs = {known, unknown},
                   .opset = 17});
  EXPECT_TRUE(body.IsShapeArithmetic(known));
  EXPECT_FALSE(body.IsShapeArithmetic(unknown));
  EXPECT_FALSE(body.IsShapeArithmetic(large));
  EXPECT_FALSE(body.IsShapeArithmetic(x));
}

}  // namespace
}  // namespace foretell::onnx
