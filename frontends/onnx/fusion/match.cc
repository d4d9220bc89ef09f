#include "frontends/onnx/fusion/match.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "frontends/onnx/reader/mask.h"

namespace foretell::onnx {
namespace {

constexpr std::int32_t kInt32 = 6;
constexpr std::int32_t kHalf = 10;
constexpr std::int32_t kDouble = 11;
constexpr std::int32_t kBFloat16 = 16;

/// Relative deviation of a number that was written with six digits, or was
/// rounded to the type.
double ToleranceOf(std::int32_t data_type) {
  if (data_type == kHalf) return 1e-3;
  if (data_type == kBFloat16) return 8e-3;
  return 1e-5;
}

template <typename T>
std::vector<double> Decode(const std::string& bytes) {
  std::vector<double> values;
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    values.push_back(static_cast<double>(value));
  }
  return values;
}

/// All values of a constant whose payload was read; empty for other types.
std::vector<double> ValuesOf(const TensorLiteral& literal) {
  if (literal.payload != TensorLiteral::Payload::kInline) return {};
  switch (literal.data_type) {
    case kOnnxFloat:
      return Decode<float>(literal.bytes);
    case kDouble:
      return Decode<double>(literal.bytes);
    case kHalf:
      return Decode<c10::Half>(literal.bytes);
    case kBFloat16:
      return Decode<c10::BFloat16>(literal.bytes);
    case kInt32:
      return Decode<std::int32_t>(literal.bytes);
    case kOnnxInt64:
      return Decode<std::int64_t>(literal.bytes);
    default:
      return {};
  }
}

bool IsAbout(double value, double expected, double tolerance) {
  return std::abs(value - expected) <= tolerance * std::abs(expected);
}

/// `value_float` or `value_int` of a Constant node.
std::optional<double> ScalarAttributeOf(const Body& body,
                                        const std::string& name) {
  const Node* constant = ProducerOfType(body, name, "Constant");
  if (constant == nullptr) return std::nullopt;
  const Attribute* number = constant->FindAttribute("value_float");
  if (number != nullptr && number->ref_attr_name.empty()) {
    return static_cast<double>(number->f);
  }
  const Attribute* integer = constant->FindAttribute("value_int");
  if (integer != nullptr && integer->ref_attr_name.empty()) {
    return static_cast<double>(integer->i);
  }
  return std::nullopt;
}

/// The source of a number that a Cast brought to the type of its partner.
const std::string& BeforeCast(const Body& body, const std::string& name) {
  const Node* cast = ProducerOfType(body, name, "Cast");
  if (cast == nullptr) cast = ProducerOfType(body, name, "CastLike");
  return cast == nullptr || cast->inputs.empty() ? name : cast->inputs[0];
}

}  // namespace

const Node* Match::Take(const std::string& name, std::string_view op_type) {
  const Node* node = ProducerOfType(*body_, name, op_type);
  if (node == nullptr || node->outputs.size() != 1) return nullptr;
  absorbed_.push_back(node);
  return node;
}

Replacement Match::By(std::string op_type, std::vector<std::string> inputs,
                      std::vector<Attribute> attributes) const {
  Replacement replacement;
  replacement.node.name = last().name;
  replacement.node.op_type = std::move(op_type);
  replacement.node.domain = "foretell";
  replacement.node.inputs = std::move(inputs);
  replacement.node.outputs = last().outputs;
  replacement.node.attributes = std::move(attributes);
  replacement.absorbed = absorbed_;
  return replacement;
}

const Node* ProducerOfType(const Body& body, const std::string& name,
                           std::string_view op_type) {
  const Node* node = body.ProducerOf(name);
  const bool fits = node != nullptr && node->domain.empty() &&
                    node->op_type == op_type &&
                    (op_type == "Constant" || !node->inputs.empty());
  return fits ? node : nullptr;
}

std::optional<std::string> Beside(const Node& node, const std::string& name) {
  if (node.inputs.size() != 2) return std::nullopt;
  if (node.inputs[0] == name) return node.inputs[1];
  if (node.inputs[1] == name) return node.inputs[0];
  return std::nullopt;
}

std::optional<std::string> BesideNumber(const Body& body, const Node& node,
                                        double value) {
  if (node.inputs.size() != 2) return std::nullopt;
  if (IsNumber(body, node.inputs[1], value)) return node.inputs[0];
  if (IsNumber(body, node.inputs[0], value)) return node.inputs[1];
  return std::nullopt;
}

std::optional<double> NumberOf(const Body& body, const std::string& name) {
  const std::string& source = BeforeCast(body, name);
  const TensorLiteral* literal = body.LiteralOf(source);
  if (literal == nullptr) return ScalarAttributeOf(body, source);
  const bool is_single =
      literal->dims.size() <= 1 && literal->NumElements() == 1;
  const std::vector<double> values =
      is_single ? ValuesOf(*literal) : std::vector<double>();
  if (values.size() != 1) return std::nullopt;
  return values.front();
}

bool IsNumber(const Body& body, const std::string& name, double value) {
  const std::optional<double> number = NumberOf(body, name);
  const TensorLiteral* literal = body.LiteralOf(BeforeCast(body, name));
  const std::int32_t type =
      literal == nullptr ? kOnnxFloat : literal->data_type;
  return number &&
         (*number == value || IsAbout(*number, value, ToleranceOf(type)));
}

bool IsHidden(const Body& body, const std::string& name) {
  const std::optional<double> number = NumberOf(body, name);
  const TensorLiteral* literal = body.LiteralOf(BeforeCast(body, name));
  if (!number || literal == nullptr) {
    return number && *number <= std::numeric_limits<float>::lowest();
  }
  return MaskElementAt(literal->data_type, literal->bytes.data()) ==
         MaskElement::kHidden;
}

bool IsFilledWith(const Body& body, const std::string& name, double value) {
  const TensorLiteral* literal = body.LiteralOf(name);
  if (literal == nullptr) return false;
  const std::vector<double> values = ValuesOf(*literal);
  return !values.empty() &&
         std::all_of(values.begin(), values.end(),
                     [&](double element) { return element == value; });
}

std::optional<std::vector<std::int64_t>> IntegersOf(const Body& body,
                                                    const std::string& name) {
  const TensorLiteral* literal = body.LiteralOf(name);
  if (literal == nullptr || literal->data_type != kOnnxInt64 ||
      literal->payload != TensorLiteral::Payload::kInline) {
    return std::nullopt;
  }
  std::vector<std::int64_t> values(literal->bytes.size() /
                                   sizeof(std::int64_t));
  if (!values.empty()) {
    std::memcpy(values.data(), literal->bytes.data(),
                values.size() * sizeof(std::int64_t));
  }
  return values;
}

std::optional<std::vector<std::int64_t>> AxesOf(const Body& body,
                                                const Node& node) {
  const Attribute* attribute = node.FindAttribute("axes");
  if (attribute != nullptr && attribute->ref_attr_name.empty()) {
    return attribute->ints;
  }
  if (node.inputs.size() < 2) return std::nullopt;
  return IntegersOf(body, node.inputs[1]);
}

std::optional<std::vector<std::int64_t>> KeptAxesOf(const Body& body,
                                                    const Node& node) {
  if (IntOf(node, "keepdims", 1) != 1) return std::nullopt;
  return AxesOf(body, node);
}

std::optional<SliceRange> RangeOf(const Body& body, const Node& slice) {
  const std::vector<std::string>& inputs = slice.inputs;
  if (inputs.size() < 4 || slice.outputs.size() != 1) return std::nullopt;
  const auto integer = [&](std::size_t i) -> std::optional<std::int64_t> {
    const auto values = IntegersOf(body, inputs[i]);
    if (!values || values->size() != 1) return std::nullopt;
    return values->front();
  };
  const auto begin = integer(1), end = integer(2), axis = integer(3);
  if (!begin || !end || !axis || (inputs.size() > 4 && integer(4) != 1)) {
    return std::nullopt;
  }
  return SliceRange{.axis = *axis, .begin = *begin, .end = *end};
}

std::int64_t IntOf(const Node& node, std::string_view attribute,
                   std::int64_t fallback) {
  const Attribute* found = node.FindAttribute(attribute);
  return found == nullptr ? fallback : found->i;
}

double FloatOf(const Node& node, std::string_view attribute, double fallback) {
  const Attribute* found = node.FindAttribute(attribute);
  return found == nullptr ? fallback : static_cast<double>(found->f);
}

Attribute MakeInt(std::string name, std::int64_t value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.kind = Attribute::Kind::kInt;
  attribute.i = value;
  return attribute;
}

Attribute MakeInts(std::string name, std::vector<std::int64_t> values) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.kind = Attribute::Kind::kInts;
  attribute.ints = std::move(values);
  return attribute;
}

Attribute MakeFloat(std::string name, double value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.kind = Attribute::Kind::kFloat;
  attribute.f = static_cast<float>(value);
  return attribute;
}

Attribute MakeString(std::string name, std::string value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.kind = Attribute::Kind::kString;
  attribute.s = std::move(value);
  return attribute;
}

}  // namespace foretell::onnx
