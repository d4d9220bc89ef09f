#include "src/program/operator_call.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "foretell/program.h"

namespace foretell {
namespace {

/// Arguments that state where and in which form a result is stored, as the
/// result itself shows.
bool IsPlacement(const std::string& argument) {
  static const std::set<std::string> kNames = {
      "layout", "device", "pin_memory", "memory_format", "generator", "dtype"};
  return kNames.count(argument) != 0;
}

std::optional<Attribute> ToAttribute(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isIntList()) return value.toIntVector();
  if (value.isDoubleList()) return value.toDoubleVector();
  if (value.isBoolList()) {
    std::vector<std::int64_t> flags;
    for (const bool flag : value.toBoolList()) flags.push_back(flag ? 1 : 0);
    return flags;
  }
  return std::nullopt;
}

bool HoldsTensors(const c10::Type& type) {
  if (const auto* list = type.castRaw<c10::ListType>()) {
    return HoldsTensors(*list->getElementType());
  }
  if (const auto* optional = type.castRaw<c10::OptionalType>()) {
    return HoldsTensors(*optional->getElementType());
  }
  return type.kind() == c10::TypeKind::TensorType;
}

}  // namespace

Attributes ToAttributes(const c10::FunctionSchema& schema,
                        const torch::jit::Stack& stack, size_t first) {
  Attributes attributes;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const std::string& name = schema.arguments()[i].name();
    if (IsPlacement(name)) continue;
    std::optional<Attribute> attribute = ToAttribute(stack[first + i]);
    if (attribute) attributes.emplace_back(name, std::move(*attribute));
  }
  return attributes;
}

std::string TargetOf(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  return name.rfind("aten::", 0) == 0 ? name.substr(6) : name;
}

void ReplaceDevices(torch::jit::Stack& stack, size_t first,
                    c10::DeviceType device) {
  for (size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isDevice()) stack[i] = c10::Device(device);
  }
}

namespace {

/// True of a call that makes a floating-point or complex tensor with dimensions
/// out of its sizes alone and fills it: empty() is also called by operators of
/// TorchScript (`tensor`), which write into it themselves.
bool MakesFloats(const c10::FunctionSchema& schema,
                 const torch::jit::Stack& stack, size_t first) {
  if (schema.name().starts_with("aten::empty")) return false;
  const auto argument = [&](const char* name) {
    const std::optional<int> index = schema.argumentIndexWithName(name);
    return index ? &stack[first + static_cast<size_t>(*index)] : nullptr;
  };
  for (size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isTensor() || stack[i].isTensorList()) return false;
  }
  const c10::IValue* size = argument("size");
  const c10::IValue* dtype = argument("dtype");
  if (size == nullptr || dtype == nullptr || !size->isIntList() ||
      size->toIntVector().empty()) {
    return false;
  }
  if (dtype->isNone()) {
    const c10::IValue* fill = argument("fill_value");
    return fill != nullptr ? fill->isDouble()
                           : schema.name() != "aten::randint";
  }
  return c10::isFloatingType(dtype->toScalarType()) ||
         c10::isComplexType(dtype->toScalarType());
}

}  // namespace

bool GiveDevice(const c10::FunctionSchema& schema, torch::jit::Stack& stack,
                c10::DeviceType device) {
  const size_t first = stack.size() - schema.arguments().size();
  const std::optional<int> index = schema.argumentIndexWithName("device");
  if (!index || !stack[first + static_cast<size_t>(*index)].isNone() ||
      !MakesFloats(schema, stack, first)) {
    return false;
  }
  stack[first + static_cast<size_t>(*index)] = c10::Device(device);
  return true;
}

bool NamesDevice(const torch::jit::Stack& stack, size_t first,
                 c10::DeviceType device) {
  return std::any_of(stack.begin() + static_cast<std::ptrdiff_t>(first),
                     stack.end(), [device](const c10::IValue& value) {
                       return value.isDevice() &&
                              value.toDevice().type() == device;
                     });
}

std::vector<at::Tensor> Mutated(const c10::FunctionSchema& schema,
                                const torch::jit::Stack& stack, size_t first) {
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    ForEachTensor(stack[first + i],
                  [&](const at::Tensor& t) { tensors.push_back(t); });
  }
  return tensors;
}

bool MakesTensors(const c10::FunctionSchema& schema) {
  return schema.is_mutable() ||
         std::any_of(schema.returns().begin(), schema.returns().end(),
                     [](const c10::Argument& result) {
                       return HoldsTensors(*result.type());
                     });
}

TensorType TypeOf(const at::Tensor& tensor) {
  return {ToDType(tensor.scalar_type()), tensor.sizes().vec()};
}

Strides StridesOf(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided) return {};
  return tensor.strides().vec();
}

}  // namespace foretell
