#include "src/program/call_checks.h"

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "foretell/program.h"
#include "src/core/failure.h"
#include "src/program/operator_call.h"

namespace foretell {
namespace {

/// Products; the overload without a name is meant, the only one that has no
/// type for the result.
constexpr std::array<std::string_view, 8> kFailingProducts = {
    "aten::addmm",  "aten::baddbmm", "aten::bmm", "aten::dot",
    "aten::linear", "aten::matmul",  "aten::mm",  "aten::mv"};

using CountParts = std::int64_t (*)(std::int64_t size, std::int64_t argument);

/// Operators that cut dimension `dim` (their last argument), and into how many
/// parts for the argument between the tensor and it.
struct Cutter {
  std::string_view name;
  CountParts parts;
};

constexpr std::array<Cutter, 6> kCutters = {{
    {"aten::chunk", [](std::int64_t size,
                       std::int64_t parts) { return std::min(size, parts); }},
    {"aten::split",
     [](std::int64_t size, std::int64_t each) {
       return each > 0 ? size / each : 0;
     }},
    {"aten::tensor_split",
     [](std::int64_t, std::int64_t parts) { return parts; }},
    {"aten::unbind", [](std::int64_t size, std::int64_t) { return size; }},
    {"aten::unsafe_chunk",
     [](std::int64_t size, std::int64_t parts) {
       return std::min(size, parts);
     }},
    {"aten::unsafe_split",
     [](std::int64_t size, std::int64_t each) {
       return each > 0 ? size / each : 0;
     }},
}};

/// What a schema writes as a type of its own, and how many values it has.
struct Form {
  c10::TypeKind kind;
  std::string_view name;
  std::int64_t count;
};

constexpr Form kElementType = {
    c10::TypeKind::ScalarTypeType, "element type",
    static_cast<std::int64_t>(at::ScalarType::Undefined)};
constexpr std::array<Form, 3> kForms = {
    {kElementType,
     {c10::TypeKind::LayoutType, "layout",
      static_cast<std::int64_t>(at::Layout::NumOptions)},
     {c10::TypeKind::MemoryFormatType, "memory format",
      static_cast<std::int64_t>(at::MemoryFormat::NumOptions)}}};

/// The form that `argument` is, or null. Operators of TorchScript alone call an
/// element type `int? dtype`.
const Form* FormOf(const c10::Argument& argument) {
  const auto* optional = argument.real_type()->castRaw<c10::OptionalType>();
  const c10::TypeKind kind = optional == nullptr
                                 ? argument.real_type()->kind()
                                 : optional->getElementType()->kind();
  if (kind == c10::TypeKind::IntType && argument.name() == "dtype") {
    return &kElementType;
  }
  const auto* form = std::ranges::find(kForms, kind, &Form::kind);
  return form == kForms.end() ? nullptr : form;
}

/// Length of the dimension that is cut; 0 when LibTorch will refuse it.
std::int64_t CutLength(const at::Tensor& tensor, std::int64_t dim) {
  if (dim < 0) dim += tensor.dim();
  return dim < 0 || dim >= tensor.dim() ? 0 : tensor.size(dim);
}

}  // namespace

void RequireFewParts(const c10::FunctionSchema& schema,
                     const torch::jit::Stack& stack) {
  const auto cutter = std::find_if(
      kCutters.begin(), kCutters.end(),
      [&](const Cutter& row) { return row.name == schema.name(); });
  if (cutter == kCutters.end() || !stack.back().isInt()) return;
  const size_t first = stack.size() - schema.arguments().size();
  if (!stack[first].isTensor() || !stack[first + 1].isInt()) return;
  const std::int64_t parts =
      cutter->parts(CutLength(stack[first].toTensor(), stack.back().toInt()),
                    stack[first + 1].toInt());
  if (parts <= kMaxParts) return;
  throw Unsupported("makes {} tensors, at most {} are accepted", parts,
                    kMaxParts);
}

void RequireKnownForms(const c10::FunctionSchema& schema,
                       const torch::jit::Stack& stack) {
  const std::vector<c10::Argument>& arguments = schema.arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& value = stack[first + i];
    if (!value.isInt()) continue;
    const Form* form = FormOf(arguments[i]);
    if (form == nullptr) continue;
    const std::int64_t number = value.toInt();
    if (number >= 0 && number < form->count) continue;
    throw InvalidArgument("is given {} {}, there are 0 to {}", form->name,
                          number, form->count - 1);
  }
}

void RequireOneType(const c10::FunctionSchema& schema,
                    const torch::jit::Stack& stack) {
  if (!schema.overload_name().empty() ||
      std::find(kFailingProducts.begin(), kFailingProducts.end(),
                schema.name()) == kFailingProducts.end()) {
    return;
  }
  std::optional<at::ScalarType> expected;
  for (size_t i = stack.size() - schema.arguments().size(); i < stack.size();
       ++i) {
    ForEachTensor(stack[i], [&](const at::Tensor& tensor) {
      if (!expected) expected = tensor.scalar_type();
      if (tensor.scalar_type() == *expected) return;
      throw InvalidArgument(
          "multiplies elements of type {} and {}, which must be the same",
          DTypeName(ToDType(*expected)),
          DTypeName(ToDType(tensor.scalar_type())));
    });
  }
}

}  // namespace foretell
