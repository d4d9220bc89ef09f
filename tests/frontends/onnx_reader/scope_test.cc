#include "frontends/onnx/reader/scope.h"

#include <gtest/gtest.h>

#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

std::vector<std::string> OperatorsOf(const Model& model) {
  std::vector<std::string> names;
  for (const Node& node : model.graph.nodes) names.push_back(node.op_type);
  return names;
}

// Graph x -> nodes -> y; each node is {operator, inputs, outputs}.
struct NodeText {
  std::string op_type;
  Names inputs;
  Names outputs;
};
::onnx::ModelProto ModelOf(const std::vector<NodeText>& nodes) {
  ::onnx::ModelProto model = EmptyModel();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  for (const auto& [op_type, inputs, outputs] : nodes) {
    AddNode(graph, op_type, inputs, outputs).set_name("the_" + op_type);
  }
  AddOutput(graph, "y");
  return model;
}

TEST(ResolveScope, KeepsASortedOrder) {
  const Model model = Read(ModelOf(
      {{"B", {"x"}, {"b"}}, {"A", {"x"}, {"a"}}, {"C", {"a", "b"}, {"y"}}}));
  EXPECT_EQ(OperatorsOf(model), (Names{"B", "A", "C"}));
}

TEST(ResolveScope, SortsAndKeepsTheRestInPlace) {
  const Model model = Read(ModelOf({{"Last", {"a", "b"}, {"y"}},
                                    {"B", {"x"}, {"b"}},
                                    {"Free", {"x"}, {"f"}},
                                    {"A", {"b"}, {"a"}}}));
  EXPECT_EQ(OperatorsOf(model), (Names{"B", "Free", "A", "Last"}));
}

TEST(ResolveScope, SortsByWhatSubgraphsUse) {
  const Model model = ReadModel(DataPath("unsorted.onnx"));
  EXPECT_EQ(OperatorsOf(model), (Names{"Relu", "If", "Exp", "Add"}));
}

TEST(ResolveScope, NamesANodeOnACycle) {
  EXPECT_EQ(ErrorOf(ModelOf({{"Entry", {"x", "q"}, {"p"}},
                             {"Back", {"p"}, {"q"}},
                             {"Exit", {"q"}, {"y"}}})),
            "corrupt: m.onnx: node 'the_Back' (Back) is part of a cycle: it "
            "depends on its own output");
  EXPECT_EQ(ErrorOf(ModelOf({{"Exit", {"s"}, {"y"}}, {"Own", {"s"}, {"s"}}})),
            "corrupt: m.onnx: node 'the_Own' (Own) is part of a cycle: it "
            "depends on its own output");
}

TEST(ResolveScope, FindsCyclesThroughSubgraphs) {
  ::onnx::ModelProto model = ModelOf({{"If", {"x"}, {"y"}}});
  AddNode(AddBranch(*model.mutable_graph()->mutable_node(0), "then_branch"),
          "Neg", {"y"}, {"n"});
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: node 'the_If' (If) is part of a cycle: it "
            "depends on its own output");
}

TEST(ResolveScope, NamesAnUndefinedValueAndItsUser) {
  EXPECT_EQ(ErrorOf(ModelOf({{"Add", {"x", "nowhere"}, {"y"}}})),
            "corrupt: m.onnx: node 'the_Add' (Add) uses 'nowhere', which "
            "nothing defines");
  EXPECT_EQ(ErrorOf(ModelOf({{"Relu", {"x"}, {"z"}}})),
            "corrupt: m.onnx: the list of outputs uses 'y', which nothing "
            "defines");
}

TEST(ResolveScope, LetsSubgraphsSeeOuterValues) {
  const Model model = ReadModel(DataPath("subgraphs.onnx"));
  const Graph& body = *model.graph.nodes[1].FindAttribute("body")->graphs.at(0);
  EXPECT_EQ(body.inputs.size(), 3u);
  const Node& choice = body.nodes.at(0);
  const Graph& branch = *choice.FindAttribute("then_branch")->graphs.at(0);
  EXPECT_EQ(branch.nodes.at(0).inputs, (Names{"state", "step"}));
}

TEST(ResolveScope, DoesNotLetOuterNodesSeeInnerValues) {
  ::onnx::ModelProto model =
      ModelOf({{"If", {"x"}, {"z"}}, {"Relu", {"inner"}, {"y"}}});
  AddNode(AddBranch(*model.mutable_graph()->mutable_node(0), "then_branch"),
          "Neg", {"x"}, {"inner"});
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: node 'the_Relu' (Relu) uses 'inner', which "
            "nothing defines");
}

TEST(ResolveScope, NamesTheInnerUserOfAnUndefinedValue) {
  ::onnx::ModelProto model = ModelOf({{"If", {"x"}, {"y"}}});
  ::onnx::NodeProto& outer = *model.mutable_graph()->mutable_node(0);
  AddNode(AddBranch(outer, "then_branch"), "Neg", {"nowhere"}, {"n"});
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: node of 'n' (Neg) uses 'nowhere', which nothing "
            "defines");
}

TEST(ResolveScope, RefusesASecondDefinition) {
  EXPECT_EQ(ErrorOf(ModelOf({{"A", {"x"}, {"y"}}, {"B", {"x"}, {"y"}}})),
            "corrupt: m.onnx: node 'the_B' (B) defines 'y', which node 'the_A' "
            "(A) defines already");
  EXPECT_EQ(ErrorOf(ModelOf({{"A", {"x"}, {"y", "x"}}})),
            "corrupt: m.onnx: node 'the_A' (A) defines 'x', which an input or "
            "initializer defines already");
}

TEST(ResolveScope, AllowsAbsentInputsAndOutputsManyTimes) {
  const Model model = Read(ModelOf(
      {{"A", {"x", "", ""}, {"y", "", ""}}, {"B", {"", "y"}, {"", "z"}}}));
  EXPECT_EQ(model.graph.nodes[0].inputs, (Names{"x", "", ""}));
}

}  // namespace
}  // namespace foretell::onnx
