#include <fmt/format.h>

#include <array>
#include <string>

#include "foretell/graph.h"
#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/core/name_table.h"

namespace foretell {
namespace {

struct DTypeRow {
  std::string_view name;
  std::int64_t bytes;
  bool floating;
};

constexpr std::array<DTypeRow, 16> kDTypes = {{
    // name  bytes  floating
    {"f64", 8, true},
    {"f32", 4, true},
    {"f16", 2, true},
    {"bf16", 2, true},
    {"f8", 1, true},
    {"i64", 8, false},
    {"i32", 4, false},
    {"i16", 2, false},
    {"i8", 1, false},
    {"u64", 8, false},
    {"u32", 4, false},
    {"u16", 2, false},
    {"u8", 1, false},
    {"bool", 1, false},
    {"c64", 8, false},
    {"c128", 16, false},
}};

const DTypeRow& RowOf(DType dtype) {
  return kDTypes.at(static_cast<std::size_t>(dtype));
}

}  // namespace

std::int64_t ByteWidth(DType dtype) { return RowOf(dtype).bytes; }

std::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

bool IsFloatingPoint(DType dtype) { return RowOf(dtype).floating; }

std::optional<DType> ParseDType(std::string_view name) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::int64_t TensorType::NumElements() const {
  const std::optional<std::int64_t> elements = CheckedProduct(shape);
  if (!elements) {
    throw InvalidArgument(
        "{}: a size is negative or the number of elements exceeds int64",
        ToString(*this));
  }
  return *elements;
}

std::int64_t TensorType::Bytes() const {
  const std::optional<std::int64_t> bytes =
      CheckedMul(NumElements(), ByteWidth(dtype));
  if (!bytes) {
    throw InvalidArgument("{}: the number of bytes exceeds int64",
                          ToString(*this));
  }
  return *bytes;
}

std::string ToString(const TensorType& type) {
  std::string text(DTypeName(type.dtype));
  text += '[';
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (i > 0) text += ',';
    text += fmt::format_int(type.shape[i]).c_str();
  }
  text += ']';
  return text;
}

}  // namespace foretell
