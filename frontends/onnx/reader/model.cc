#include "frontends/onnx/reader/model.h"

#include <fmt/core.h>

#include <limits>
#include <set>

#include "frontends/onnx/reader/constants.h"
#include "frontends/onnx/reader/data_types.h"
#include "src/core/checked.h"

namespace foretell::onnx {

std::optional<DType> DTypeOfCode(std::int32_t code) {
  const DataType* type = FindDataType(code);
  return type == nullptr ? std::nullopt : type->dtype;
}

std::string DataTypeName(std::int32_t code) {
  if (code == 0) return "UNDEFINED";
  const DataType* type = FindDataType(code);
  return type == nullptr ? fmt::format("data type {}", code)
                         : std::string(type->name);
}

std::int64_t TensorLiteral::NumElements() const {
  return CheckedProduct(dims).value_or(0);
}

const Attribute* Node::FindAttribute(std::string_view attribute_name) const {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == attribute_name) return &attribute;
  }
  return nullptr;
}

std::int64_t Model::FloatInitializerElements() const {
  std::int64_t sum = 0;
  const std::set<std::string> constants = ConstantInitializers(graph);
  for (const TensorLiteral& tensor : graph.initializers) {
    const DataType* type = FindDataType(tensor.data_type);
    if (type == nullptr || !type->is_floating_point) continue;
    if (constants.contains(tensor.name)) continue;
    if (__builtin_add_overflow(sum, tensor.NumElements(), &sum)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return sum;
}

std::map<DType, std::int64_t> Model::WeightElements() const {
  std::map<DType, std::int64_t> elements;
  const std::set<std::string> constants = ConstantInitializers(graph);
  for (const TensorLiteral& tensor : graph.initializers) {
    const DataType* type = FindDataType(tensor.data_type);
    if (type == nullptr || !type->dtype) continue;
    if (constants.contains(tensor.name)) continue;
    const bool is_8_bit =
        *type->dtype == DType::kI8 || *type->dtype == DType::kU8;
    const bool is_quantised = is_8_bit && tensor.dims.size() >= 2;
    if (!type->is_floating_point && !is_quantised) continue;
    std::int64_t& sum = elements[*type->dtype];
    // Codes that share a byte count as one.
    const std::int64_t count =
        is_quantised ? RawBytes(*type, tensor.NumElements()).value_or(0)
                     : tensor.NumElements();
    if (__builtin_add_overflow(sum, count, &sum)) {
      sum = std::numeric_limits<std::int64_t>::max();
    }
  }
  return elements;
}

}  // namespace foretell::onnx
