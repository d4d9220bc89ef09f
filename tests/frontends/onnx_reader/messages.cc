#include "tests/frontends/onnx_reader/messages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace foretell::onnx {
namespace {

::onnx::ValueInfoProto FloatValue(const std::string& name,
                                  const std::vector<std::int64_t>& dims) {
  ::onnx::ValueInfoProto value;
  value.set_name(name);
  auto* type = value.mutable_type()->mutable_tensor_type();
  type->set_elem_type(kOnnxFloat);
  for (const std::int64_t dim : dims) {
    type->mutable_shape()->add_dim()->set_dim_value(dim);
  }
  return value;
}

}  // namespace

::onnx::ModelProto EmptyModel() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name("g");
  return model;
}

::onnx::ModelProto ReluModel() {
  ::onnx::ModelProto model = EmptyModel();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "x");
  AddNode(graph, "Relu", {"x"}, {"y"}).set_name("relu1");
  AddOutput(graph, "y");
  return model;
}

::onnx::NodeProto& AddNode(::onnx::GraphProto& graph,
                           const std::string& op_type, const Names& inputs,
                           const Names& outputs) {
  ::onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  return node;
}

void AddInput(::onnx::GraphProto& graph, const std::string& name,
              const std::vector<std::int64_t>& dims) {
  *graph.add_input() = FloatValue(name, dims);
}

void AddOutput(::onnx::GraphProto& graph, const std::string& name) {
  *graph.add_output() = FloatValue(name, {2});
}

::onnx::TensorProto& AddInitializer(::onnx::GraphProto& graph,
                                    const std::string& name,
                                    std::int32_t data_type,
                                    const std::vector<std::int64_t>& dims) {
  ::onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(data_type);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

::onnx::GraphProto& AddBranch(::onnx::NodeProto& node,
                              const std::string& name) {
  ::onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  return *attribute.mutable_g();
}

Model Read(const ::onnx::ModelProto& proto, const ReadOptions& options) {
  return ReadModelFromBytes(proto.SerializeAsString(), "m.onnx", options);
}

TensorLiteral ReadTensor(const ::onnx::TensorProto& tensor,
                         const ReadOptions& options) {
  ::onnx::ModelProto model = ReluModel();
  *model.mutable_graph()->add_initializer() = tensor;
  return Read(model, options).graph.initializers.at(0);
}

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(ErrorCodeName(error.code())) + ": " + error.what();
  }
  ADD_FAILURE() << "expected an Error";
  return "";
}

std::string ErrorOf(const ::onnx::ModelProto& proto) {
  return ErrorOf([&] { Read(proto); });
}

std::string DataPath(const std::string& name) {
  return std::string(FORETELL_SOURCE_DIR) +
         "/tests/frontends/onnx_reader/data/" + name;
}

std::vector<std::string> TinyFiles() {
  return {"attributes.onnx", "convolution.onnx", "external.onnx",
          "functions.onnx",  "sequences.onnx",   "small_types.onnx",
          "sparse.onnx",     "subgraphs.onnx",   "typed_data.onnx",
          "unsorted.onnx"};
}

std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace foretell::onnx
