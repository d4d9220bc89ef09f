#include "frontends/onnx/ops/small_types.h"

#include <ATen/ATen.h>
#include <c10/core/ScalarType.h>

namespace foretell::onnx {
namespace {

/// Bits of an integer type; 0 for every other type.
int BitsOf(at::ScalarType type) {
  if (type == at::kInt2 || type == at::kUInt2) return 2;
  if (type == at::kInt4 || type == at::kUInt4) return 4;
  return 0;
}

bool IsSigned(at::ScalarType type) {
  return type == at::kInt2 || type == at::kInt4;
}

constexpr int kSignBit = 8;

/// Magnitudes are m / 2 for the codes m below 4 and (2 + m % 2) · 2^(m/2 - 2)
/// above.
at::Tensor DecodeFloat4(const at::Tensor& bytes) {
  const at::Tensor code = bytes.to(at::kInt);
  const at::Tensor magnitude = at::bitwise_and(code, kSignBit - 1);
  const at::Tensor exponent = at::bitwise_right_shift(magnitude, 1);
  const at::Tensor large = at::ldexp(
      at::bitwise_and(magnitude, 1).add(2).to(at::kFloat), exponent.sub(2));
  const at::Tensor value =
      at::where(exponent.eq(0), magnitude.to(at::kFloat).mul(0.5), large);
  return at::where(code.ge(kSignBit), value.neg(), value);
}

/// The distance of neighbours is 0.5 below 2, 1 up to 4 and 2 up to 6: a
/// number's code is its multiple of that distance, plus 2 for each step up.
at::Tensor EncodeFloat4(const at::Tensor& tensor) {
  constexpr double kLargest = 6;
  const at::Tensor x = tensor.to(at::kFloat);
  const at::Tensor magnitude =
      at::clamp(at::nan_to_num(x.abs(), 0.0, kLargest), 0, kLargest);
  const at::Tensor steps =
      magnitude.ge(2).to(at::kInt).add(magnitude.ge(4).to(at::kInt));
  const at::Tensor multiple =
      at::round(at::ldexp(magnitude, steps.neg().add(1)));
  const at::Tensor code = multiple.to(at::kInt).add(steps.mul(2));
  return at::where(at::signbit(x), code.add(kSignBit), code).to(at::kByte);
}

/// The lowest `bits` of each element, the topmost of them the sign where the
/// type has one.
at::Tensor LowestBits(const at::Tensor& tensor, at::ScalarType type) {
  const int bits = BitsOf(type);
  const at::Tensor wide = tensor.to(at::kLong);
  if (!IsSigned(type)) {
    return at::bitwise_and(wide, (1 << bits) - 1).to(at::kByte);
  }
  const int unused = 64 - bits;
  return at::bitwise_right_shift(at::bitwise_left_shift(wide, unused), unused)
      .to(at::kChar);
}

}  // namespace

bool IsSmallType(at::ScalarType type) {
  return BitsOf(type) != 0 || type == at::kFloat4_e2m1fn_x2;
}

at::Tensor FromSmallType(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  if (BitsOf(type) == 0) return DecodeFloat4(tensor.view(at::kByte));
  return tensor.view(IsSigned(type) ? at::kChar : at::kByte);
}

at::Tensor ToSmallType(const at::Tensor& tensor, at::ScalarType type) {
  const at::Tensor bytes =
      BitsOf(type) == 0 ? EncodeFloat4(tensor) : LowestBits(tensor, type);
  return bytes.view(type);
}

}  // namespace foretell::onnx
