#include "frontends/onnx/literals.h"

#include <ATen/ATen.h>

#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "foretell/program.h"
#include "frontends/onnx/reader/data_types.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

/// TensorProto.DataType codes with an equivalent in ATen.
constexpr std::array<std::pair<std::int64_t, at::ScalarType>, 25> kTypes = {{
    {1, at::kFloat},
    {2, at::kByte},
    {3, at::kChar},
    {4, at::kUInt16},
    {5, at::kShort},
    {6, at::kInt},
    {7, at::kLong},
    {9, at::kBool},
    {10, at::kHalf},
    {11, at::kDouble},
    {12, at::kUInt32},
    {13, at::kUInt64},
    {14, at::kComplexFloat},
    {15, at::kComplexDouble},
    {16, at::kBFloat16},
    {17, at::kFloat8_e4m3fn},
    {18, at::kFloat8_e4m3fnuz},
    {19, at::kFloat8_e5m2},
    {20, at::kFloat8_e5m2fnuz},
    {21, at::kUInt4},
    {22, at::kInt4},
    {23, at::kFloat4_e2m1fn_x2},
    {24, at::kFloat8_e8m0fnu},
    {25, at::kUInt2},
    {26, at::kInt2},
}};

/// Spreads packed elements of `bits` (2 or 4), least significant first, to a
/// byte each, the sign extended where `is_signed`.
void Unpack(std::string_view packed, int bits, bool is_signed,
            std::span<std::int8_t> out) {
  const int unused = 8 - bits;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t bit = i * static_cast<std::size_t>(bits);
    const auto byte = static_cast<unsigned char>(packed[bit / 8]);
    const auto top = static_cast<unsigned char>((byte >> (bit % 8)) << unused);
    out[i] = static_cast<std::int8_t>(
        is_signed ? static_cast<signed char>(top) >> unused : top >> unused);
  }
}

/// Fills `tensor`, which has the type that the literal is held as.
void CopyBytes(const TensorLiteral& literal, at::Tensor& tensor) {
  const DataType& type = *FindDataType(literal.data_type);
  const std::int64_t needed = RawBytes(type, tensor.numel()).value_or(0);
  if (std::ssize(literal.bytes) != needed) {
    throw Corrupt("has {}, its shape needs {}",
                  Counted(literal.bytes.size(), "byte"), needed);
  }
  if (literal.bytes.empty()) return;
  if (type.bits < 8) {
    const bool is_signed = type.dtype == DType::kI8;
    Unpack(literal.bytes, type.bits, is_signed,
           {static_cast<std::int8_t*>(tensor.data_ptr()),
            static_cast<std::size_t>(tensor.numel())});
    return;
  }
  std::memcpy(tensor.data_ptr(), literal.bytes.data(), literal.bytes.size());
}

}  // namespace

at::ScalarType ScalarTypeOf(std::int64_t onnx_code, Precision precision) {
  for (const auto& [code, type] : kTypes) {
    if (code == onnx_code) return StoredAs(type, precision);
  }
  throw Unsupported("element type {} is not supported",
                    DataTypeName(static_cast<std::int32_t>(onnx_code)));
}

at::Tensor HostTensor(const TensorLiteral& literal, Precision precision) {
  const at::ScalarType stored =
      ScalarTypeOf(literal.data_type, Precision::kFp32);
  if (literal.payload != TensorLiteral::Payload::kInline) {
    throw Unsupported("its values are needed but were not read");
  }
  at::Tensor tensor =
      at::empty(literal.dims, at::TensorOptions().dtype(stored));
  CopyBytes(literal, tensor);
  return tensor.to(ScalarTypeOf(literal.data_type, precision));
}

at::Tensor MetaTensor(const TensorLiteral& literal, Precision precision) {
  const auto on_meta = at::TensorOptions().device(at::kMeta);
  const at::ScalarType type = ScalarTypeOf(literal.data_type, precision);
  const DataType& stored = *FindDataType(literal.data_type);
  if (stored.bits >= 8) return at::empty(literal.dims, on_meta.dtype(type));
  const std::int64_t packed =
      RawBytes(stored, literal.NumElements()).value_or(0);
  const at::Tensor bytes = at::empty({packed}, on_meta.dtype(at::kByte));
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(bytes.storage()), bytes.key_set(),
      c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(literal.dims);
  return tensor;
}

}  // namespace foretell::onnx
