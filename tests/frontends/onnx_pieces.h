#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/reader/model.h"

/// Parts of an ONNX model that every kind of test needs.
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

/// An initializer with the values of a float32 or int64 tensor on the CPU.
inline TensorLiteral LiteralOf(std::string name, const at::Tensor& tensor) {
  const at::Tensor values = tensor.contiguous();
  TensorLiteral literal;
  literal.name = std::move(name);
  literal.data_type =
      values.scalar_type() == at::kLong ? kOnnxInt64 : kOnnxFloat;
  literal.dims = values.sizes().vec();
  literal.bytes.assign(static_cast<const char*>(values.const_data_ptr()),
                       values.nbytes());
  return literal;
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

inline Attribute FloatAttribute(std::string name, float value) {
  Attribute attribute{.name = std::move(name)};
  attribute.kind = Attribute::Kind::kFloat;
  attribute.f = value;
  return attribute;
}

inline Attribute StringAttribute(std::string name, std::string value) {
  Attribute attribute{.name = std::move(name)};
  attribute.kind = Attribute::Kind::kString;
  attribute.s = std::move(value);
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

}  // namespace foretell::onnx
