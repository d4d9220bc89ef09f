#include "frontends/onnx/reader/constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>

#include "frontends/onnx/reader/branch_weights.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TensorLiteral FloatsOf(const std::string& name, std::vector<std::int64_t> dims,
                       std::vector<float> values) {
  TensorLiteral literal;
  literal.name = name;
  literal.data_type = kOnnxFloat;
  literal.dims = std::move(dims);
  literal.bytes.assign(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(float));
  return literal;
}

TensorLiteral Unread(const std::string& name, std::vector<std::int64_t> dims) {
  TensorLiteral literal = FloatsOf(name, std::move(dims), {});
  literal.payload = TensorLiteral::Payload::kSkipped;
  return literal;
}

TensorLiteral CausalMask() {
  return FloatsOf("m", {2, 2}, {0, std::numeric_limits<float>::lowest(), 0, 0});
}

Node ReadBy(const std::string& op_type, std::vector<std::string> inputs) {
  Node node;
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.outputs = {"y"};
  return node;
}

/// Which initializers are constants where one node reads them, in this order.
std::set<std::string> ConstantsOf(std::vector<TensorLiteral> initializers,
                                  const std::string& reader) {
  Graph graph;
  std::vector<std::string> names;
  for (const TensorLiteral& literal : initializers) {
    names.push_back(literal.name);
  }
  graph.initializers = std::move(initializers);
  graph.nodes = {ReadBy(reader, names)};
  return ConstantInitializers(graph);
}

TEST(Constants, MasksAreWhoeverReadsThem) {
  EXPECT_THAT(ConstantsOf({CausalMask()}, "Add"), ElementsAre("m"));
}

TEST(Constants, OnesWhereOnlyTrianglesAreTaken) {
  const TensorLiteral ones = FloatsOf("m", {2, 2}, {1, 1, 1, 1});
  EXPECT_THAT(ConstantsOf({ones}, "Trilu"), ElementsAre("m"));
  EXPECT_THAT(ConstantsOf({ones}, "Mul"), IsEmpty());
}

TEST(Constants, SettingsOfAnOperator) {
  EXPECT_THAT(ConstantsOf({Unread("x", {1, 3, 4, 4}), Unread("roi", {0}),
                           Unread("scales", {4})},
                          "Resize"),
              ElementsAre("roi", "scales"));
  EXPECT_THAT(
      ConstantsOf({Unread("x", {8}), Unread("low", {}), Unread("high", {})},
                  "Clip"),
      ElementsAre("high", "low"));
  EXPECT_THAT(ConstantsOf({Unread("x", {8}), Unread("scales", {8})}, "Mul"),
              IsEmpty());
}

TEST(Constants, NumbersThatTheExporterNamed) {
  EXPECT_THAT(
      ConstantsOf({Unread("val_61", {}), Unread("scalar_tensor_default", {}),
                   Unread("scale", {}), Unread("val_3", {1}),
                   Unread("val_4", {2}), Unread("val_5", {1, 1})},
                  "Concat"),
      ElementsAre("scalar_tensor_default", "val_3", "val_61"));
}

TEST(Constants, TablesThatTheExporterComputedFromNothing) {
  EXPECT_THAT(ConstantsOf({Unread("cos", {8, 4}), Unread("sin_1", {8, 4}),
                           Unread("zeros_like_12", {8, 4}),
                           // A parameter's, rearranged.
                           Unread("permute_2", {8, 4}),
                           // Modules' own names.
                           Unread("rope.cos", {8, 4}), Unread("cosine", {8})},
                          "Concat"),
              ElementsAre("cos", "sin_1", "zeros_like_12"));
}

TEST(Constants, WhatAScatterWritesInto) {
  EXPECT_THAT(ConstantsOf({Unread("t", {9, 9}), Unread("i", {9, 9}),
                           Unread("u", {9, 9})},
                          "ScatterElements"),
              ElementsAre("t"));
}

TEST(Constants, ScaleOfANormThatTheExporterTookApart) {
  EXPECT_THAT(ConstantsOf({Unread("x", {1, 3, 8}), Unread("val_8", {3}),
                           Unread("val_11", {3})},
                          "InstanceNormalization"),
              ElementsAre("val_11", "val_8"));
  EXPECT_THAT(ConstantsOf({Unread("x", {1, 3, 8}), Unread("norm.weight", {3}),
                           Unread("norm.bias", {3})},
                          "InstanceNormalization"),
              IsEmpty());
}

TEST(Constants, ZerosThatARecurrentLayerBeginsWith) {
  const auto read = [](const std::string& state) {
    return ConstantsOf({Unread("x", {5, 2, 8}), Unread("val_1", {1, 16, 8}),
                        Unread("val_2", {1, 16, 4}), Unread("val_3", {1, 32}),
                        Unread("lengths", {2}), Unread(state, {1, 2, 4})},
                       "LSTM");
  };
  EXPECT_THAT(read("val_16"), ElementsAre("val_16"));
  EXPECT_THAT(read("h0"), IsEmpty());
}

TEST(Constants, MasksInAnotherFile) {
  const std::vector<TensorLiteral> added = {
      Unread("val_221", {2, 1, 24, 24}), Unread("val_23", {64, 1, 1}),
      Unread("val_24", {64}), Unread("positions", {24, 24})};
  EXPECT_THAT(ConstantsOf(added, "Add"), ElementsAre("val_221"));
  EXPECT_THAT(ConstantsOf(added, "MatMul"), IsEmpty());
}

TEST(Constants, WhatAlsoAnInnerGraphReadsIsAParameter) {
  Graph inner;
  inner.nodes = {ReadBy("Mul", {"t"})};
  Attribute branch;
  branch.kind = Attribute::Kind::kGraph;
  branch.graphs = {std::make_shared<const Graph>(inner)};
  Graph graph;
  graph.initializers = {Unread("t", {9, 9})};
  graph.nodes = {ReadBy("ScatterElements", {"t"}), ReadBy("If", {"c"})};
  graph.nodes.back().attributes = {branch};
  EXPECT_THAT(ConstantInitializers(graph), IsEmpty());
}

TEST(Constants, AreNoParameters) {
  Model model;
  model.graph.initializers = {CausalMask(), FloatsOf("w", {1, 2}, {2, 3})};
  EXPECT_EQ(model.FloatInitializerElements(), 2);
  EXPECT_EQ(model.WeightElements().at(DType::kF32), 2);
}

Node Holding(TensorLiteral literal, const std::string& output) {
  Node node;
  node.op_type = "Constant";
  node.outputs = {output};
  Attribute value;
  value.name = "value";
  value.kind = Attribute::Kind::kTensor;
  value.tensors = {std::move(literal)};
  node.attributes = {std::move(value)};
  return node;
}

TEST(LiftWeights, ConstantNodesHoldThemWhereNoInitializerDoes) {
  Graph graph;
  graph.nodes = {Holding(FloatsOf("", {2, 2}, {1, 2, 3, 4}), "w"),
                 Holding(FloatsOf("", {1}, {1e-5F}), "eps"),
                 ReadBy("MatMul", {"x", "w"})};
  graph.initializers = {FloatsOf("bias", {2}, {1, 2})};
  Graph torch = graph;
  LiftWeights(graph);
  ASSERT_EQ(graph.initializers.size(), 2U);
  EXPECT_EQ(graph.initializers[1].name, "w");
  EXPECT_EQ(graph.nodes.size(), 2U);
  torch.initializers.push_back(FloatsOf("v", {1, 2}, {1, 2}));
  LiftWeights(torch);
  EXPECT_EQ(torch.nodes.size(), 3U);
}

/// An If, one branch of which is `then_branch` and the other `else_branch`.
Graph Branching(Graph then_branch, Graph else_branch) {
  Graph graph;
  Node node = ReadBy("If", {"flag"});
  for (Graph* branch : {&then_branch, &else_branch}) {
    Attribute attribute;
    attribute.kind = Attribute::Kind::kGraph;
    attribute.graphs = {std::make_shared<const Graph>(std::move(*branch))};
    node.attributes.push_back(std::move(attribute));
  }
  graph.nodes = {std::move(node)};
  return graph;
}

std::vector<std::string> NamesOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const TensorLiteral& literal : graph.initializers) {
    names.push_back(literal.name);
  }
  return names;
}

TEST(LiftBranchWeights, InitializersOfBothBranchesAreParameters) {
  Graph branch;
  branch.initializers = {FloatsOf("w", {2, 2}, {1, 2, 3, 4}),
                         FloatsOf("eps", {1}, {1e-5F})};
  branch.nodes = {ReadBy("MatMul", {"x", "w"})};
  Graph graph = Branching(branch, branch);
  LiftBranchWeights(graph);
  // The branches have a "w" each.
  EXPECT_THAT(NamesOf(graph), ElementsAre("w_1", "w_2"));
  const auto& attributes = graph.nodes[0].attributes;
  EXPECT_THAT(attributes[0].graphs[0]->nodes[0].inputs,
              ElementsAre("x", "w_1"));
  EXPECT_THAT(attributes[1].graphs[0]->nodes[0].inputs,
              ElementsAre("x", "w_2"));
  EXPECT_THAT(NamesOf(*attributes[1].graphs[0]), ElementsAre("eps"));
}

TEST(LiftBranchWeights, NodesHoldThemWhereNoInitializerDoes) {
  Graph branch;
  branch.nodes = {Holding(FloatsOf("", {2, 2}, {1, 2, 3, 4}), "w"),
                  ReadBy("MatMul", {"x", "w"})};
  Graph graph = Branching(branch, Graph());
  Graph torch = graph;
  LiftBranchWeights(graph);
  EXPECT_THAT(NamesOf(graph), ElementsAre("w"));
  EXPECT_EQ(graph.nodes[0].attributes[0].graphs[0]->nodes.size(), 1U);
  torch.initializers = {FloatsOf("v", {1, 2}, {1, 2})};
  LiftBranchWeights(torch);
  EXPECT_THAT(NamesOf(torch), ElementsAre("v"));
}

TEST(LiftBranchWeights, ResultsOfABranchStay) {
  Graph branch;
  branch.initializers = {FloatsOf("w", {1, 2}, {1, 2})};
  branch.outputs.resize(1);
  branch.outputs[0].name = "w";
  Graph graph = Branching(branch, branch);
  LiftBranchWeights(graph);
  EXPECT_THAT(NamesOf(graph), IsEmpty());
}

}  // namespace
}  // namespace foretell::onnx
