#include "frontends/exported/call_operator.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <fmt/core.h>

#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/program/operator_call.h"

namespace foretell::exported {
namespace {

constexpr std::string_view kPrefix = "torch.ops.";

/// "aten", "conv2d" and "default".
struct OperatorPath {
  std::string_view space;
  std::string_view name;
  std::string_view overload;
};

std::optional<OperatorPath> PathOf(std::string_view target) {
  if (!target.starts_with(kPrefix)) return std::nullopt;
  target.remove_prefix(kPrefix.size());
  const std::size_t first = target.find('.');
  const std::size_t second = target.find('.', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) {
    return std::nullopt;
  }
  return OperatorPath{target.substr(0, first),
                      target.substr(first + 1, second - first - 1),
                      target.substr(second + 1)};
}

[[noreturn]] void Misfit(const c10::IValue& value, const c10::Type& type) {
  throw Corrupt("takes {}, is given {}", type.annotation_str(),
                value.tagKind());
}

c10::IValue Fit(c10::IValue value, const c10::Type& type);

/// A tensor that does not decide the type of a result, as eager code makes it
/// from a number.
at::Tensor FromNumber(const c10::IValue& value) {
  at::Tensor tensor = c10::scalar_to_tensor(value.toScalar());
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

c10::IValue FitTensor(c10::IValue value, const c10::Type& type) {
  if (value.isTensor()) return value;
  if (value.isNone()) return at::Tensor();
  if (value.isScalar()) return FromNumber(value);
  Misfit(value, type);
}

c10::IValue FitFloat(c10::IValue value, const c10::Type& type) {
  if (value.isDouble()) return value;
  if (value.isInt()) return static_cast<double>(value.toInt());
  if (value.isBool()) return value.toBool() ? 1.0 : 0.0;
  Misfit(value, type);
}

c10::IValue FitInt(c10::IValue value, const c10::Type& type) {
  if (value.isInt()) return value;
  if (value.isBool()) return static_cast<std::int64_t>(value.toBool());
  Misfit(value, type);
}

c10::IValue FitBool(c10::IValue value, const c10::Type& type) {
  if (value.isBool()) return value;
  if (value.isInt()) return value.toInt() != 0;
  Misfit(value, type);
}

template <typename T, typename Take>
c10::IValue ListOf(c10::ArrayRef<c10::IValue> elements, const c10::Type& type,
                   Take take) {
  c10::List<T> list;
  list.reserve(elements.size());
  for (const c10::IValue& element : elements) {
    list.push_back(take(Fit(element, type)));
  }
  return list;
}

/// Element by element: lists in IValues are of the type of their elements.
c10::IValue FitList(const c10::IValue& value, const c10::ListType& type) {
  if (!value.isList()) Misfit(value, type);
  const c10::ArrayRef<c10::IValue> elements = value.toListRef();
  const c10::Type& element = *type.getElementType();
  switch (element.kind()) {
    case c10::TypeKind::TensorType:
      return ListOf<at::Tensor>(elements, element, [](const c10::IValue& fit) {
        return fit.toTensor();
      });
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return ListOf<std::int64_t>(
          elements, element,
          [](const c10::IValue& fit) { return fit.toInt(); });
    case c10::TypeKind::FloatType:
      return ListOf<double>(elements, element, [](const c10::IValue& fit) {
        return fit.toDouble();
      });
    case c10::TypeKind::BoolType:
      return ListOf<bool>(elements, element,
                          [](const c10::IValue& fit) { return fit.toBool(); });
    case c10::TypeKind::NumberType:
      return ListOf<at::Scalar>(elements, element, [](const c10::IValue& fit) {
        return fit.toScalar();
      });
    case c10::TypeKind::OptionalType:
      return ListOf<std::optional<at::Tensor>>(
          elements, element, [](const c10::IValue& fit) {
            return fit.isNone() ? std::nullopt : std::optional(fit.toTensor());
          });
    default:
      Misfit(value, type);
  }
}

/// `value` in the form that `type` requires: boxed calls do not convert, and
/// would misinterpret values of another type.
c10::IValue Fit(c10::IValue value, const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::OptionalType:
      if (value.isNone()) return value;
      return Fit(std::move(value),
                 *type.castRaw<c10::OptionalType>()->getElementType());
    case c10::TypeKind::TensorType:
      return FitTensor(std::move(value), type);
    case c10::TypeKind::FloatType:
      return FitFloat(std::move(value), type);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return FitInt(std::move(value), type);
    case c10::TypeKind::BoolType:
      return FitBool(std::move(value), type);
    case c10::TypeKind::ListType:
      return FitList(value, *type.castRaw<c10::ListType>());
    case c10::TypeKind::NumberType:
      if (value.isScalar()) return value;
      Misfit(value, type);
    case c10::TypeKind::StringType:
      if (value.isString()) return value;
      Misfit(value, type);
    case c10::TypeKind::DeviceObjType:
      if (value.isDevice()) return value;
      Misfit(value, type);
    default:
      if (value.isNone()) return value;
      Misfit(value, type);
  }
}

/// A single number instead of a list of known length stands for every element.
c10::IValue Spread(c10::IValue value, const c10::Argument& argument) {
  const auto* optional = argument.type()->castRaw<c10::OptionalType>();
  const c10::Type& type =
      optional == nullptr ? *argument.type() : *optional->getElementType();
  if (type.kind() != c10::TypeKind::ListType || !value.isScalar()) {
    return value;
  }
  c10::impl::GenericList list(c10::AnyType::get());
  for (int i = 0; i < argument.N().value_or(1); ++i) list.push_back(value);
  return list;
}

c10::IValue TakeValue(const c10::Argument& argument, NamedValues& values) {
  for (auto& [name, value] : values) {
    if (name != argument.name()) continue;
    name.clear();
    try {
      return Fit(Spread(std::move(value), argument), *argument.type());
    } catch (const Error& error) {
      throw WithContext(fmt::format("argument '{}'", argument.name()), error);
    }
  }
  if (argument.default_value()) return *argument.default_value();
  if (argument.type()->kind() == c10::TypeKind::OptionalType) return {};
  throw Corrupt("lacks argument '{}'", argument.name());
}

void RefuseLeftOver(const NamedValues& values) {
  for (const auto& [name, value] : values) {
    if (name.empty()) continue;
    throw Corrupt("does not accept the argument '{}'", name);
  }
}

}  // namespace

std::string OperatorName(const std::string& target) {
  const std::optional<OperatorPath> path = PathOf(target);
  if (!path) return "";
  return fmt::format("{}::{}", path->space, path->name);
}

std::optional<c10::OperatorHandle> FindOperator(const std::string& target) {
  const std::optional<OperatorPath> path = PathOf(target);
  if (!path) return std::nullopt;
  const std::string overload(path->overload == "default" ? "" : path->overload);
  return c10::Dispatcher::singleton().findSchema(
      {OperatorName(target), overload});
}

std::vector<c10::IValue> CallOperator(const c10::OperatorHandle& op,
                                      NamedValues values,
                                      c10::DeviceType device) {
  torch::jit::Stack stack;
  for (const c10::Argument& argument : op.schema().arguments()) {
    stack.push_back(TakeValue(argument, values));
  }
  RefuseLeftOver(values);
  values.clear();
  ReplaceDevices(stack, 0, device);
  op.callBoxed(&stack);
  return stack;
}

}  // namespace foretell::exported
