#include "frontends/onnx/ops/type_support.h"

#include <ATen/ATen.h>

#include <limits>

#include "frontends/onnx/ops/small_types.h"
#include "src/program/meta/in_autocast.h"

namespace foretell::onnx {
namespace {

constexpr std::int64_t kTopBit = std::numeric_limits<std::int64_t>::min();

at::Tensor FlipTopBit(const at::Tensor& tensor) {
  return at::bitwise_xor(tensor, kTopBit);
}

/// Signed division as the hardware does it, except that on the CPU a divisor
/// of -1 must not reach it: the smallest number divided by -1 traps.
at::Tensor SignedQuotient(const at::Tensor& a, const at::Tensor& b) {
  const bool may_trap =
      b.scalar_type() == at::kInt || b.scalar_type() == at::kLong;
  if (!may_trap || !a.is_cpu() || !b.is_cpu()) return at::div(a, b, "trunc");
  const at::Tensor minus_one = at::eq(b, -1);
  const at::Tensor safe = b.masked_fill(minus_one, 1);
  return at::where(minus_one, at::neg(a), at::div(a, safe, "trunc"));
}

/// Unsigned division of 64-bit patterns held in int64 (Hacker's Delight, 9-3):
/// halve the dividend so that it is not negative, divide, double, and add the
/// one that may be missing. For a divisor with its top bit set the quotient is
/// 1 or 0.
at::Tensor UnsignedQuotient(const at::Tensor& a, const at::Tensor& b) {
  const auto not_below = [](const at::Tensor& x, const at::Tensor& y) {
    return at::ge(FlipTopBit(x), FlipTopBit(y));
  };
  const at::Tensor large = at::lt(b, 0);
  const at::Tensor small_divisor = b.masked_fill(large, 1);
  const at::Tensor half = at::bitwise_right_shift(a, 1).bitwise_and(~kTopBit);
  const at::Tensor estimate =
      at::bitwise_left_shift(at::div(half, small_divisor, "trunc"), 1);
  const at::Tensor rest = a - estimate * small_divisor;
  const at::Tensor quotient =
      estimate + not_below(rest, small_divisor).to(at::kLong);
  return at::where(large, not_below(a, b).to(at::kLong), quotient);
}

}  // namespace

bool IsWideUnsigned(at::ScalarType type) {
  return type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64;
}

bool IsSmallFloat(at::ScalarType type) {
  return at::isFloatingType(type) && at::elementSize(type) == 1;
}

bool TypesAgree(at::ScalarType a, at::ScalarType b) {
  const auto is_autocasts = [](at::ScalarType type) {
    return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
  };
  return a == b || (in_autocast && is_autocasts(a) && is_autocasts(b));
}

at::Tensor CastTo(const at::Tensor& tensor, at::ScalarType type) {
  const at::ScalarType from = tensor.scalar_type();
  if (TypesAgree(from, type)) return tensor;
  if (IsSmallType(from)) return CastTo(FromSmallType(tensor), type);
  return IsSmallType(type) ? ToSmallType(tensor, type) : tensor.to(type);
}

at::Tensor Computable(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  if (IsWideUnsigned(type)) return tensor.to(at::kLong);
  if (IsSmallFloat(type)) return CastTo(tensor, at::kFloat);
  return IsSmallType(type) ? FromSmallType(tensor) : tensor;
}

at::Tensor Ordered(const at::Tensor& tensor) {
  const at::Tensor computable = Computable(tensor);
  return tensor.scalar_type() == at::kUInt64 ? FlipTopBit(computable)
                                             : computable;
}

at::Tensor FromOrdered(const at::Tensor& tensor, at::ScalarType type) {
  return CastTo(type == at::kUInt64 ? FlipTopBit(tensor) : tensor, type);
}

at::Tensor Quotient(const at::Tensor& dividend, const at::Tensor& divisor) {
  const at::ScalarType type = dividend.scalar_type();
  if (!at::isIntegralType(type, /*includeBool=*/true)) {
    return at::div(dividend, divisor);
  }
  const at::Tensor a = Computable(dividend);
  const at::Tensor b = Computable(divisor);
  if (type == at::kUInt64) return CastTo(UnsignedQuotient(a, b), type);
  return CastTo(SignedQuotient(a, b), type);
}

at::Tensor FloatOnCpu(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  const bool is_half = type == at::kHalf || type == at::kBFloat16;
  return is_half && tensor.is_cpu() ? tensor.to(at::kFloat) : tensor;
}

}  // namespace foretell::onnx
