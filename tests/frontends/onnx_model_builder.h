#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/reader/model.h"
#include "tests/frontends/onnx_pieces.h"

/// A few words with which tests write ONNX models as C++ structures.
namespace foretell::onnx {

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

inline Model MakeModel(Graph graph, std::int64_t opset = 17) {
  Model model;
  model.path = "m.onnx";
  model.ir_version = 8;
  model.opset_imports = {{"", opset}};
  model.graph = std::move(graph);
  return model;
}

}  // namespace foretell::onnx
