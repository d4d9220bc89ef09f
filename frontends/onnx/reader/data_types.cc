#include "frontends/onnx/reader/data_types.h"

#include <iterator>

#include "frontends/onnx/reader/wire.h"
#include "src/core/checked.h"

namespace foretell::onnx {
namespace {

// By TensorProto.DataType code (onnx-ml.proto, IR version 14).
constexpr DataType kDataTypes[] = {
    {},
    {"FLOAT", 32, true, kFloatData, 32, DType::kF32},
    {"UINT8", 8, false, kInt32Data, 8, DType::kU8},
    {"INT8", 8, false, kInt32Data, 8, DType::kI8},
    {"UINT16", 16, false, kInt32Data, 16, DType::kU16},
    {"INT16", 16, false, kInt32Data, 16, DType::kI16},
    {"INT32", 32, false, kInt32Data, 32, DType::kI32},
    {"INT64", 64, false, kInt64Data, 64, DType::kI64},
    {"STRING", 0, false, kStringData, 0, {}},
    {"BOOL", 8, false, kInt32Data, 8, DType::kBool},
    {"FLOAT16", 16, true, kInt32Data, 16, DType::kF16},
    {"DOUBLE", 64, true, kDoubleData, 64, DType::kF64},
    {"UINT32", 32, false, kUint64Data, 32, DType::kU32},
    {"UINT64", 64, false, kUint64Data, 64, DType::kU64},
    {"COMPLEX64", 64, false, kFloatData, 32, DType::kC64},
    {"COMPLEX128", 128, false, kDoubleData, 64, DType::kC128},
    {"BFLOAT16", 16, true, kInt32Data, 16, DType::kBF16},
    {"FLOAT8E4M3FN", 8, true, kInt32Data, 8, DType::kF8},
    {"FLOAT8E4M3FNUZ", 8, true, kInt32Data, 8, DType::kF8},
    {"FLOAT8E5M2", 8, true, kInt32Data, 8, DType::kF8},
    {"FLOAT8E5M2FNUZ", 8, true, kInt32Data, 8, DType::kF8},
    {"UINT4", 4, false, kInt32Data, 8, DType::kU8},
    {"INT4", 4, false, kInt32Data, 8, DType::kI8},
    {"FLOAT4E2M1", 4, true, kInt32Data, 8, DType::kF8},
    {"FLOAT8E8M0", 8, true, kInt32Data, 8, DType::kF8},
    {"UINT2", 2, false, kInt32Data, 8, DType::kU8},
    {"INT2", 2, false, kInt32Data, 8, DType::kI8},
    {"FLOAT6E2M3", 6, true, kInt32Data, 6, {}},
    {"FLOAT6E3M2", 6, true, kInt32Data, 6, {}},
};

}  // namespace

const DataType* FindDataType(std::int32_t code) {
  const bool known =
      code > 0 && code < static_cast<std::int32_t>(std::size(kDataTypes));
  return known ? &kDataTypes[code] : nullptr;
}

std::optional<std::int64_t> RawBytes(const DataType& type,
                                     std::int64_t elements) {
  const std::optional<std::int64_t> bits = CheckedMul(elements, type.bits);
  if (!bits) return std::nullopt;
  return *bits / 8 + (*bits % 8 != 0);
}

std::int64_t TypedItems(const DataType& type, std::int64_t elements) {
  if (type.item_bits == 0) return elements;
  const std::int64_t bits = elements * type.bits;
  return bits / type.item_bits + (bits % type.item_bits != 0);
}

}  // namespace foretell::onnx
