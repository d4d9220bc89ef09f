#include "frontends/onnx/literals.h"

#include <ATen/ops/empty.h>
#include <fmt/core.h>

#include <array>
#include <cstring>
#include <utility>

#include "foretell/error.h"
#include "foretell/program.h"

namespace foretell::onnx {
namespace {

/// TensorProto.DataType codes with an equivalent in ATen.
constexpr std::array<std::pair<std::int64_t, at::ScalarType>, 20> kTypes = {{
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
    {24, at::kFloat8_e8m0fnu},
}};

}  // namespace

at::ScalarType ScalarTypeOf(std::int64_t onnx_code, Precision precision) {
  for (const auto& [code, type] : kTypes) {
    if (code == onnx_code) return StoredAs(type, precision);
  }
  throw Error(ErrorCode::kUnsupported,
              "element type " +
                  DataTypeName(static_cast<std::int32_t>(onnx_code)) +
                  " is not supported");
}

at::Tensor HostTensor(const TensorLiteral& literal, Precision precision) {
  const at::ScalarType stored =
      ScalarTypeOf(literal.data_type, Precision::kFp32);
  if (literal.payload != TensorLiteral::Payload::kInline) {
    throw Error(ErrorCode::kUnsupported,
                "its values are needed but were not read");
  }
  at::Tensor tensor =
      at::empty(literal.dims, at::TensorOptions().dtype(stored));
  if (literal.bytes.size() != tensor.nbytes()) {
    throw Error(ErrorCode::kCorrupt,
                fmt::format("has {} bytes, its shape needs {}",
                            literal.bytes.size(), tensor.nbytes()));
  }
  if (!literal.bytes.empty()) {
    std::memcpy(tensor.data_ptr(), literal.bytes.data(), literal.bytes.size());
  }
  return tensor.to(ScalarTypeOf(literal.data_type, precision));
}

}  // namespace foretell::onnx
