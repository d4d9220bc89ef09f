#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/model.h"

/// A few words with which tests write ONNX models as C++ structures.
namespace foretell::onnx {

inline Dim Fixed(std::int64_t value) { return {.value = value, .symbol = {}}; }
inline Dim Symbol(std::string name) {
  return {.value = {}, .symbol = std::move(name)};
}

/// A float tensor that a graph takes or gives.
inline ValueInfo FloatValue(std::string name, std::vector<Dim> dims) {
  ValueInfo info{.name = std::move(name), .type = {}};
  info.type.kind = TypeInfo::Kind::kTensor;
  info.type.elem_type = kOnnxFloat;
  info.type.shape = std::move(dims);
  return info;
}

/// A value of unknown type.
inline ValueInfo AnyValue(std::string name) {
  return {.name = std::move(name), .type = {}};
}

/// A float weight whose payload was skipped.
inline TensorLiteral Weight(std::string name, std::vector<std::int64_t> dims) {
  TensorLiteral literal;
  literal.name = std::move(name);
  literal.data_type = kOnnxFloat;
  literal.dims = std::move(dims);
  literal.payload = TensorLiteral::Payload::kSkipped;
  return literal;
}

template <typename T>
TensorLiteral Inline(std::string name, std::int32_t data_type,
                     std::vector<std::int64_t> dims,
                     const std::vector<T>& values) {
  TensorLiteral literal;
  literal.name = std::move(name);
  literal.data_type = data_type;
  literal.dims = std::move(dims);
  literal.bytes.resize(values.size() * sizeof(T));
  std::memcpy(literal.bytes.data(), values.data(), literal.bytes.size());
  return literal;
}

/// Constants whose values are in the file.
inline TensorLiteral Floats(std::string name, std::vector<std::int64_t> dims,
                            const std::vector<float>& values) {
  return Inline(std::move(name), kOnnxFloat, std::move(dims), values);
}
inline TensorLiteral Ints(std::string name, std::vector<std::int64_t> dims,
                          const std::vector<std::int64_t>& values) {
  return Inline(std::move(name), kOnnxInt64, std::move(dims), values);
}
inline TensorLiteral Bool(std::string name, bool value) {
  return Inline<char>(std::move(name), kOnnxBool, {}, {value ? '\1' : '\0'});
}

inline Attribute IntAttribute(std::string name, std::int64_t value) {
  Attribute attribute{.name = std::move(name)};
  attribute.kind = Attribute::Kind::kInt;
  attribute.i = value;
  return attribute;
}

inline Attribute IntsAttribute(std::string name,
                               std::vector<std::int64_t> values) {
  Attribute attribute{.name = std::move(name)};
  attribute.kind = Attribute::Kind::kInts;
  attribute.ints = std::move(values);
  return attribute;
}

inline Attribute TensorAttribute(std::string name, TensorLiteral value) {
  Attribute attribute{.name = std::move(name)};
  attribute.kind = Attribute::Kind::kTensor;
  attribute.tensors = {std::move(value)};
  return attribute;
}

inline Attribute GraphAttribute(std::string name, Graph graph) {
  Attribute attribute{.name = std::move(name)};
  attribute.kind = Attribute::Kind::kGraph;
  attribute.graphs = {std::make_shared<const Graph>(std::move(graph))};
  return attribute;
}

/// An integer attribute that takes the value of a function's attribute.
inline Attribute ReferenceAttribute(std::string name, std::string reference) {
  Attribute attribute{.name = std::move(name)};
  attribute.kind = Attribute::Kind::kInt;
  attribute.ref_attr_name = std::move(reference);
  return attribute;
}

/// A node that is called like its first output.
inline Node MakeNode(std::string op_type, std::vector<std::string> inputs,
                     std::vector<std::string> outputs,
                     std::vector<Attribute> attributes = {}) {
  Node node;
  node.name = outputs.front();
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  return node;
}

inline Model MakeModel(Graph graph, std::int64_t opset = 17) {
  Model model;
  model.path = "m.onnx";
  model.ir_version = 8;
  model.opset_imports = {{"", opset}};
  model.graph = std::move(graph);
  return model;
}

}  // namespace foretell::onnx
