#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/frontends/onnx_reader/dump.h"
#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

TEST(ReadModel, ReadsAConvolution) {
  const Model model = ReadModel(DataPath("convolution.onnx"));
  EXPECT_EQ(model.path, DataPath("convolution.onnx"));
  EXPECT_EQ(model.ir_version, 10);
  EXPECT_EQ(model.producer_name, "make_tiny_onnx");
  EXPECT_EQ(model.opset_imports.at(""), 17);
  // The limit of Clip does not count.
  EXPECT_EQ(model.FloatInitializerElements(), 4 * 3 * 3 * 3 + 4);
  const Graph& graph = model.graph;
  EXPECT_EQ(graph.name, "convolution");
  ASSERT_EQ(graph.inputs.size(), 1u);
  const TypeInfo& type = graph.inputs[0].type;
  EXPECT_EQ(type.kind, TypeInfo::Kind::kTensor);
  EXPECT_EQ(type.elem_type, kOnnxFloat);
  ASSERT_EQ(type.shape->size(), 4u);
  EXPECT_EQ((*type.shape)[0].symbol, "batch");
  EXPECT_EQ((*type.shape)[0].value, std::nullopt);
  EXPECT_EQ((*type.shape)[1].value, 3);
  EXPECT_EQ((*type.shape)[3].value, std::nullopt);
  EXPECT_EQ((*type.shape)[3].symbol, "");
  EXPECT_EQ(graph.nodes[0].FindAttribute("pads")->ints,
            (std::vector<std::int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(graph.nodes[1].inputs, (Names{"c", "", "six"}));
}

TEST(ReadModel, ReadsSequenceOptionalAndMapTypes) {
  using Kind = TypeInfo::Kind;
  const Model model = ReadModel(DataPath("sequences.onnx"));
  const TypeInfo& optional = model.graph.inputs.at(1).type;
  EXPECT_EQ(optional.kind, Kind::kOptional);
  EXPECT_EQ(optional.element->kind, Kind::kSequence);
  EXPECT_EQ(optional.element->element->kind, Kind::kTensor);
  EXPECT_EQ(optional.element->element->shape->at(0).symbol, "n");
  EXPECT_EQ(model.graph.inputs.at(2).type.kind, Kind::kMap);
}

TEST(ReadModel, ReadsEveryKindOfAttribute) {
  using Kind = Attribute::Kind;
  const Model model = ReadModel(DataPath("attributes.onnx"));
  const Node& node = model.graph.nodes.at(0);
  EXPECT_EQ(node.domain, "com.example");
  const auto find = [&](const char* name, Kind kind) -> const Attribute& {
    const Attribute* attribute = node.FindAttribute(name);
    EXPECT_NE(attribute, nullptr) << name;
    EXPECT_EQ(attribute->kind, kind) << name;
    return *attribute;
  };
  EXPECT_EQ(find("f", Kind::kFloat).f, 1.5f);
  EXPECT_EQ(find("i", Kind::kInt).i, -7);
  EXPECT_EQ(find("s", Kind::kString).s, "text");
  EXPECT_EQ(find("t", Kind::kTensor).tensors.at(0).bytes.size(), 8u);
  EXPECT_EQ(find("g", Kind::kGraph).graphs.at(0)->nodes.at(0).op_type, "Relu");
  EXPECT_EQ(find("sp", Kind::kSparseTensor).tensors.at(0).NumElements(), 4);
  EXPECT_EQ(find("tp", Kind::kType).type->shape->at(1).symbol, "m");
  EXPECT_EQ(find("floats", Kind::kFloats).floats,
            (std::vector<float>{0.5f, 1.5f}));
  EXPECT_EQ(find("ints", Kind::kInts).ints,
            (std::vector<std::int64_t>{1, -1, std::int64_t{1} << 40}));
  EXPECT_EQ(find("strings", Kind::kStrings).strings, (Names{"a", "bc"}));
  EXPECT_EQ(find("tensors", Kind::kTensors).tensors.size(), 2u);
  EXPECT_EQ(find("graphs", Kind::kGraphs).graphs.size(), 1u);
  EXPECT_EQ(find("sps", Kind::kSparseTensors).tensors.size(), 1u);
  find("tps", Kind::kTypes);
}

TEST(ReadModel, TellsTheKindOfAnOldAttributeFromItsValue) {
  ::onnx::ModelProto proto = ReluModel();
  ::onnx::AttributeProto& attribute =
      *proto.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("axes");
  attribute.add_ints(3);
  const Model model = Read(proto);
  EXPECT_EQ(model.graph.nodes[0].attributes[0].kind, Attribute::Kind::kInts);
}

TEST(ReadModel, DoesNotLookForExternalData) {
  const Model model = ReadModel(DataPath("external.onnx"));
  for (const TensorLiteral& tensor : model.graph.initializers) {
    EXPECT_EQ(tensor.payload, TensorLiteral::Payload::kExternal);
    EXPECT_EQ(tensor.bytes, "");
    EXPECT_EQ(tensor.NumElements(), 16);
  }
  EXPECT_EQ(model.FloatInitializerElements(), 48);
}

TEST(ReadModel, MakesTheSameStructureWhateverItSkips) {
  for (const std::string& name : TinyFiles()) {
    const std::string path = DataPath(name);
    const ReadOptions nothing = {.max_payload_bytes = 0};
    const ReadOptions everything = {.max_payload_bytes = 1 << 30};
    EXPECT_EQ(Dump(ReadModel(path, nothing), false),
              Dump(ReadModel(path, everything), false))
        << name;
  }
}

TEST(ReadModel, MakesTheSameModelFromAFileAndFromMemory) {
  for (const std::string& name : TinyFiles()) {
    const std::string path = DataPath(name);
    EXPECT_EQ(Dump(ReadModel(path), true),
              Dump(ReadModelFromBytes(FileBytes(path), path), true))
        << name;
  }
}

TEST(ReadModel, TreatsAiOnnxAsTheDefaultDomain) {
  ::onnx::ModelProto proto = ReluModel();
  proto.mutable_opset_import(0)->set_domain("ai.onnx");
  proto.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  proto.add_opset_import()->set_version(11);
  const Model model = Read(proto);
  EXPECT_EQ(model.graph.nodes[0].domain, "");
  EXPECT_EQ(model.opset_imports,
            (std::map<std::string, std::int64_t>{{"", 17}}));
}

TEST(ReadModel, TakesADimensionOfMinusOneForUnknown) {
  ::onnx::ModelProto proto = ReluModel();
  AddInput(*proto.mutable_graph(), "z", {-1, 3});
  EXPECT_EQ(Read(proto).graph.inputs[1].type.shape->at(0).value, std::nullopt);
  AddInput(*proto.mutable_graph(), "v", {-2, 3});
  EXPECT_EQ(ErrorOf(proto),
            "corrupt: m.onnx: value 'v': dimension -2 of [-2,3] is negative");
}

TEST(ReadModel, RequiresTheIrVersionsThatItKnows) {
  ::onnx::ModelProto model = ReluModel();
  model.set_ir_version(14);
  EXPECT_EQ(Read(model).ir_version, 14);
  model.set_ir_version(15);
  EXPECT_EQ(ErrorOf(model),
            "unsupported: m.onnx: IR version 15, supported are 3 to 14");
  model.set_ir_version(2);
  EXPECT_EQ(ErrorOf(model),
            "unsupported: m.onnx: IR version 2, supported are 3 to 14");
  model.clear_ir_version();
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: not an ONNX file: the model has no IR version");
}

TEST(ReadModel, RequiresGraphAndOperatorSet) {
  ::onnx::ModelProto model = ReluModel();
  model.clear_opset_import();
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: the model imports no operator set");
  model.clear_graph();
  EXPECT_EQ(ErrorOf(model), "corrupt: m.onnx: the model has no graph");
}

TEST(ReadModel, RequiresNames) {
  ::onnx::ModelProto model = ReluModel();
  model.mutable_graph()->mutable_node(0)->add_attribute()->set_i(1);
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: node 'relu1' (Relu): attribute without a name");
  model = ReluModel();
  model.mutable_graph()->mutable_node(0)->clear_op_type();
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: node 'relu1' (): it has no operator type");
  model = ReluModel();
  AddInitializer(*model.mutable_graph(), "w", kOnnxFloat, {0});
  AddInitializer(*model.mutable_graph(), "w", kOnnxFloat, {0});
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: initializer 'w' is defined twice");
  model = ReluModel();
  AddInput(*model.mutable_graph(), "x");
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: graph input 'x' is defined twice");
}

TEST(ReadModel, RequiresTheValueOfAnAttribute) {
  ::onnx::ModelProto model = ReluModel();
  ::onnx::AttributeProto& attribute =
      *model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("value");
  attribute.set_type(::onnx::AttributeProto::TENSOR);
  EXPECT_EQ(ErrorOf(model),
            "corrupt: m.onnx: node 'relu1' (Relu): attribute 'value': it has "
            "no value of its type");
}

TEST(ReadModel, LetsAnInputHaveADefault) {
  ::onnx::ModelProto model = ReluModel();
  AddInitializer(*model.mutable_graph(), "x", kOnnxFloat, {2})
      .set_raw_data(std::string(8, '\0'));
  EXPECT_EQ(Read(model).graph.inputs.size(), 1u);
}

TEST(ReadModel, NamesAPathThatIsNoModel) {
  EXPECT_EQ(ErrorOf([] { ReadModel("/no/such.onnx"); }),
            "not_found: /no/such.onnx: no such file");
  EXPECT_EQ(ErrorOf([] { ReadModel("/dev"); }),
            "io: /dev: is a directory, expected a regular file");
  EXPECT_EQ(ErrorOf([] { ReadModelFromBytes("", "m.onnx"); }),
            "corrupt: m.onnx: not a model: it is empty");
}

}  // namespace
}  // namespace foretell::onnx
