#include "frontends/exported/named_arguments.h"

#include "src/core/failure.h"

namespace foretell::exported {
namespace {

[[noreturn]] void RefuseKind(std::string_view name, const char* expected,
                             const c10::IValue& value) {
  throw Corrupt("argument '{}' is {}, expected {}", name, value.tagKind(),
                expected);
}

}  // namespace

const c10::IValue* NamedArguments::Find(std::string_view name) const {
  for (const auto& [given, value] : values_) {
    if (given == name && !value.isNone()) return &value;
  }
  return nullptr;
}

const c10::IValue& NamedArguments::Get(std::string_view name) const {
  const c10::IValue* const value = Find(name);
  if (value != nullptr) return *value;
  throw Corrupt("lacks argument '{}'", name);
}

at::Tensor NamedArguments::Tensor(std::string_view name) const {
  const c10::IValue& value = Get(name);
  if (!value.isTensor()) RefuseKind(name, "Tensor", value);
  return value.toTensor();
}

at::Tensor NamedArguments::OptionalTensor(std::string_view name) const {
  return Has(name) ? Tensor(name) : at::Tensor();
}

std::int64_t NamedArguments::Int(std::string_view name) const {
  const c10::IValue& value = Get(name);
  if (!value.isInt()) RefuseKind(name, "Int", value);
  return value.toInt();
}

double NamedArguments::Number(std::string_view name, double unknown) const {
  const c10::IValue& value = Get(name);
  if (value.isDouble()) return value.toDouble();
  if (value.isInt()) return static_cast<double>(value.toInt());
  if (value.isBool()) return value.toBool() ? 1 : 0;
  if (!value.isTensor()) RefuseKind(name, "a number", value);
  const at::Tensor& tensor = value.toTensor();
  return tensor.is_meta() ? unknown : tensor.item().toDouble();
}

at::ScalarType NamedArguments::Type(std::string_view name) const {
  return static_cast<at::ScalarType>(Int(name));
}

at::ScalarType NamedArguments::Type(std::string_view name,
                                    at::ScalarType fallback) const {
  return Has(name) ? Type(name) : fallback;
}

std::vector<std::int64_t> NamedArguments::Ints(std::string_view name) const {
  const c10::IValue& value = Get(name);
  if (!value.isList()) RefuseKind(name, "a list", value);
  std::vector<std::int64_t> numbers;
  for (const c10::IValue& element : value.toListRef()) {
    if (!element.isInt()) RefuseKind(name, "a list of Int", element);
    numbers.push_back(element.toInt());
  }
  return numbers;
}

std::string NamedArguments::Text(std::string_view name) const {
  const c10::IValue& value = Get(name);
  if (!value.isString()) RefuseKind(name, "String", value);
  return value.toStringRef();
}

}  // namespace foretell::exported
