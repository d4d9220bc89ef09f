#include "frontends/onnx/reader/functions.h"

#include <gtest/gtest.h>

#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

// Function local.`name`: b = callee(a), as often as asked.
::onnx::FunctionProto& AddFunction(::onnx::ModelProto& model,
                                   const std::string& name,
                                   const std::string& callee, int calls = 1) {
  ::onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("local");
  function.set_name(name);
  function.add_input("a");
  function.add_output("b0");
  for (int i = 0; i < calls; ++i) {
    ::onnx::NodeProto& node = *function.add_node();
    node.set_op_type(callee);
    node.set_domain("local");
    node.add_input("a");
    node.add_output("b" + std::to_string(i));
  }
  return function;
}

::onnx::ModelProto Calling(const std::string& function) {
  ::onnx::ModelProto model = ReluModel();
  ::onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.set_op_type(function);
  node.set_domain("local");
  return model;
}

TEST(Functions, AreReadWithAttributesAndReferences) {
  const Model model = ReadModel(DataPath("functions.onnx"));
  EXPECT_EQ(model.opset_imports,
            (std::map<std::string, std::int64_t>{{"", 17}, {"local", 1}}));
  ASSERT_EQ(model.functions.size(), 2u);
  const Function& leaky = model.functions[0];
  EXPECT_EQ(leaky.domain, "local");
  EXPECT_EQ(leaky.inputs, Names{"a"});
  EXPECT_EQ(leaky.attribute_protos.at(0).name, "slope");
  EXPECT_EQ(leaky.attribute_protos.at(0).f, 0.25f);
  const Attribute* alpha = leaky.nodes.at(0).FindAttribute("alpha");
  ASSERT_NE(alpha, nullptr);
  EXPECT_EQ(alpha->ref_attr_name, "slope");
  EXPECT_EQ(alpha->kind, Attribute::Kind::kFloat);
  EXPECT_EQ(model.functions[1].overload, "twice");
  EXPECT_EQ(model.graph.nodes[0].overload, "twice");
}

TEST(Functions, SeeNoValuesOfTheGraph) {
  ::onnx::ModelProto model = Calling("F");
  AddFunction(model, "F", "Relu").mutable_node(0)->set_input(0, "x");
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: function 'F': node of 'b0' (Relu) uses 'x', "
            "which nothing defines");
}

TEST(CheckFunctions, RefusesRecursion) {
  ::onnx::ModelProto model = Calling("F");
  AddFunction(model, "F", "G");
  AddFunction(model, "G", "F");
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: function 'F' calls itself or functions that call "
            "each other in turn");
}

TEST(CheckFunctions, TellsOverloadsApart) {
  ::onnx::ModelProto model = Calling("F");
  AddFunction(model, "F", "F").mutable_node(0)->set_overload("other");
  AddFunction(model, "F", "Relu").set_overload("other");
  EXPECT_EQ(Read(model).functions.size(), 2u);
  AddFunction(model, "F", "Relu").set_overload("other");
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: function 'F' of domain 'local' is defined twice");
}

TEST(CheckFunctions, RefusesExponentialGrowth) {
  ::onnx::ModelProto model = Calling("F0");
  for (int i = 0; i < 40; ++i) {
    AddFunction(model, "F" + std::to_string(i), "F" + std::to_string(i + 1), 2);
  }
  EXPECT_NE(ErrorOf(model).find("expands to more than 1048576 nodes"),
            std::string::npos);
}

TEST(CheckFunctions, RefusesVeryDeepCalls) {
  ::onnx::ModelProto model = Calling("F0");
  for (int i = 0; i < kMaxCallDepth - 1; ++i) {
    AddFunction(model, "F" + std::to_string(i), "F" + std::to_string(i + 1));
  }
  EXPECT_EQ(Read(model).functions.size(), 63u);
  for (int i = kMaxCallDepth - 1; i < kMaxCallDepth + 2; ++i) {
    AddFunction(model, "F" + std::to_string(i), "F" + std::to_string(i + 1));
  }
  EXPECT_NE(ErrorOf(model).find("call each other 65 deep, at most 64"),
            std::string::npos);
}

TEST(Attributes, MayReferToAFunctionOnlyInsideOfOne) {
  ::onnx::ModelProto model = ReluModel();
  ::onnx::AttributeProto& attribute =
      *model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("alpha");
  attribute.set_ref_attr_name("slope");
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: node 'relu1' (Relu): attribute 'alpha': it "
            "refers to 'slope', an attribute of a function, outside of any "
            "function");
}

}  // namespace
}  // namespace foretell::onnx
