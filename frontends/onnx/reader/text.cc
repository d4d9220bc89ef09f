#include "frontends/onnx/reader/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace foretell::onnx {
namespace {

constexpr size_t kLongestName = 100;
constexpr size_t kMostDims = 10;

}  // namespace

std::string Quoted(std::string_view name) {
  return fmt::format("'{}{}'", name.substr(0, kLongestName),
                     name.size() > kLongestName ? "…" : "");
}

std::string NodeLabel(const Node& node) {
  std::string label = "without a name";
  if (!node.name.empty()) {
    label = Quoted(node.name);
  } else if (!node.outputs.empty()) {
    label = "of " + Quoted(node.outputs.front());
  }
  std::string op_type = Quoted(node.op_type);
  op_type.front() = '(';
  op_type.back() = ')';
  return fmt::format("node {} {}", label, op_type);
}

std::string DimsText(std::span<const std::int64_t> dims) {
  const auto shown = dims.first(std::min(dims.size(), kMostDims));
  return fmt::format("[{}{}]", fmt::join(shown, ","),
                     dims.size() > kMostDims ? ",…" : "");
}

std::string TensorText(const TensorLiteral& tensor) {
  return fmt::format("{} {}{}", Quoted(tensor.name),
                     DataTypeName(tensor.data_type), DimsText(tensor.dims));
}

}  // namespace foretell::onnx
