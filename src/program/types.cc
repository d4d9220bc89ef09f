#include <ATen/ATen.h>

#include <array>
#include <utility>

#include "foretell/program.h"
#include "src/core/failure.h"

namespace foretell {
namespace {

constexpr std::array<std::pair<DType, at::ScalarType>, 15> kTypes = {{
    {DType::kF64, at::kDouble},
    {DType::kF32, at::kFloat},
    {DType::kF16, at::kHalf},
    {DType::kBF16, at::kBFloat16},
    {DType::kI64, at::kLong},
    {DType::kI32, at::kInt},
    {DType::kI16, at::kShort},
    {DType::kI8, at::kChar},
    {DType::kU64, at::kUInt64},
    {DType::kU32, at::kUInt32},
    {DType::kU16, at::kUInt16},
    {DType::kU8, at::kByte},
    {DType::kBool, at::kBool},
    {DType::kC64, at::kComplexFloat},
    {DType::kC128, at::kComplexDouble},
}};

/// Types that have no DType of their own: a byte per element each.
constexpr std::array<std::pair<DType, at::ScalarType>, 10> kByteTypes = {{
    {DType::kF8, at::kFloat8_e4m3fn},
    {DType::kF8, at::kFloat8_e4m3fnuz},
    {DType::kF8, at::kFloat8_e5m2},
    {DType::kF8, at::kFloat8_e5m2fnuz},
    {DType::kF8, at::kFloat8_e8m0fnu},
    {DType::kF8, at::kFloat4_e2m1fn_x2},
    {DType::kI8, at::kInt4},
    {DType::kI8, at::kInt2},
    {DType::kU8, at::kUInt4},
    {DType::kU8, at::kUInt2},
}};

}  // namespace

at::ScalarType StoredAs(at::ScalarType type, Precision precision) {
  const bool casts = type == at::kDouble || type == at::kFloat ||
                     type == at::kHalf || type == at::kBFloat16;
  if (casts && precision == Precision::kFp16) return at::kHalf;
  if (casts && precision == Precision::kBf16) return at::kBFloat16;
  return type;
}

at::ScalarType ToScalarType(DType dtype, Precision precision) {
  if (dtype == DType::kF8) return at::kFloat8_e4m3fn;
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) return StoredAs(theirs, precision);
  }
  throw InternalFailure("element type without an ATen type: {}",
                        DTypeName(dtype));
}

std::optional<DType> HeldAs(at::ScalarType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  for (const auto& [ours, theirs] : kByteTypes) {
    if (theirs == type) return ours;
  }
  return std::nullopt;
}

DType ToDType(at::ScalarType type) {
  if (const std::optional<DType> held = HeldAs(type)) return *held;
  throw Unsupported("element type {} is not supported", at::toString(type));
}

at::Tensor GivenTensor(const BoundInput& input) {
  return at::tensor(input.values, at::kLong)
      .to(ToScalarType(input.type.dtype))
      .view(input.type.shape);
}

}  // namespace foretell
