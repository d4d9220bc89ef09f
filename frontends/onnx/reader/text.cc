#include "frontends/onnx/reader/text.h"

#include <algorithm>

namespace foretell::onnx {
namespace {

constexpr size_t kLongestName = 100;
constexpr size_t kMostDims = 10;

}  // namespace

std::string Quoted(std::string_view name) {
  std::string text = "'";
  text += name.substr(0, kLongestName);
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; },
      '?');
  return text + (name.size() > kLongestName ? "…'" : "'");
}

std::string NodeLabel(const Node& node) {
  std::string label = "node ";
  if (!node.name.empty()) {
    label += Quoted(node.name);
  } else if (!node.outputs.empty()) {
    label += "of " + Quoted(node.outputs.front());
  } else {
    label += "without a name";
  }
  std::string op_type = Quoted(node.op_type);
  op_type.front() = '(';
  op_type.back() = ')';
  return label + " " + op_type;
}

std::string DimsText(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(dims.size(), kMostDims); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(dims[i]);
  }
  return text + (dims.size() > kMostDims ? ",…]" : "]");
}

std::string TensorText(const TensorLiteral& tensor) {
  return Quoted(tensor.name) + " " + DataTypeName(tensor.data_type) +
         DimsText(tensor.dims);
}

}  // namespace foretell::onnx
