#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <optional>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

// ---- Arithmetic of one or two tensors --------------------------------------

at::Tensor Plus(const at::Tensor& a, const at::Tensor& b) {
  return at::add(a, b);
}

at::Tensor Minus(const at::Tensor& a, const at::Tensor& b) {
  return at::sub(a, b);
}

at::Tensor Times(const at::Tensor& a, const at::Tensor& b) {
  return at::mul(a, b);
}

/// A function of floating-point numbers, or of signed integers.
template <UnaryFunction function>
void LowerNumeric(NodeContext& ctx) {
  ctx.Set(0, function(ctx.Tensor(0)));
}

/// Abs and Sign, also for types without a sign.
void LowerAbs(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  ctx.Set(0, IsWideUnsigned(x.scalar_type()) ? x : at::abs(x));
}

void LowerSign(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::ScalarType type = x.scalar_type();
  ctx.Set(0, IsWideUnsigned(type) ? at::ne(x, 0).to(type) : at::sign(x));
}

/// Sums, differences and products: their bits do not depend on the sign.
template <BinaryFunction function>
void LowerModular(NodeContext& ctx) {
  const at::Tensor a = ctx.Operand(0);
  const at::ScalarType type = a.scalar_type();
  const at::Tensor y =
      function(Computable(a), Computable(SecondOperand(ctx, a)));
  ctx.Set(0, IsWideUnsigned(type) ? CastTo(y, type) : y);
}

void LowerDiv(NodeContext& ctx) {
  const at::Tensor a = ctx.Operand(0);
  ctx.Set(0, Quotient(a, SecondOperand(ctx, a)));
}

// ---- Remainders and powers -------------------------------------------------

/// Remainder of `a` for the quotient rounded toward zero.
at::Tensor IntegerRest(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor quotient = Computable(Quotient(a, b));
  return CastTo(Computable(a) - quotient * Computable(b), a.scalar_type());
}

void LowerMod(NodeContext& ctx) {
  const at::Tensor a = ctx.Operand(0);
  const at::Tensor b = ctx.Operand(1);
  const bool truncates = ctx.IntAttribute("fmod", 0) != 0;
  if (IsWideUnsigned(a.scalar_type())) {
    ctx.Set(0, IntegerRest(a, b));
  } else {
    ctx.Set(0, truncates ? at::fmod(a, b) : at::remainder(a, b));
  }
}

/// The result has the type of the base, regardless of the exponent's.
void LowerPow(NodeContext& ctx) {
  at::Tensor base = ctx.Operand(0);
  const at::Tensor exponent = Computable(SecondOperand(ctx, base));
  const at::ScalarType type = base.scalar_type();
  if (!base.is_floating_point() && exponent.is_floating_point()) {
    base = base.to(at::kDouble);
  }
  // A number as exponent is what eager code passes, and has faster kernels.
  const bool is_number = base.is_floating_point() && base.dim() > 0 &&
                         exponent.is_cpu() && exponent.dim() == 0;
  const at::Tensor y =
      is_number ? at::pow(base, exponent.item()) : at::pow(base, exponent);
  ctx.Set(0, CastTo(y, type));
}

// ---- Any number of tensors -------------------------------------------------

at::Tensor Fold(NodeContext& ctx, BinaryFunction function) {
  at::Tensor y = ctx.Tensor(0);
  for (size_t i = 1; i < ctx.num_inputs(); ++i) {
    y = function(y, ctx.Operand(i));
  }
  return y;
}

void LowerSum(NodeContext& ctx) { ctx.Set(0, Fold(ctx, &Plus)); }

void LowerMean(NodeContext& ctx) {
  const at::Tensor sum = Fold(ctx, &Plus);
  ctx.Set(0, at::div(sum, static_cast<double>(ctx.num_inputs())));
}

template <BinaryFunction function>
at::Tensor InOrder(const at::Tensor& a, const at::Tensor& b) {
  const at::ScalarType type = a.scalar_type();
  const at::Tensor y = function(Ordered(a), Ordered(b));
  return IsWideUnsigned(type) ? FromOrdered(y, type) : y;
}

/// Max and Min.
template <BinaryFunction function>
void LowerExtreme(NodeContext& ctx) {
  ctx.Set(0, Fold(ctx, &InOrder<function>));
}

// ---- Clip ------------------------------------------------------------------

double LargestFinite(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return 65504.0;
    case at::kDouble:
      return std::numeric_limits<double>::max();
    default:  // bfloat16 has about the range of float32.
      return std::numeric_limits<c10::BFloat16>::max();
  }
}

/// `bound`, or nothing when no number of a floating-point type is beyond it:
/// exporters write the largest float32 for "unbounded".
std::optional<at::Scalar> Effective(const at::Scalar& bound,
                                    at::ScalarType type) {
  const bool is_void = at::isFloatingType(type) &&
                       std::abs(bound.toDouble()) >= LargestFinite(type);
  return is_void ? std::nullopt : std::optional<at::Scalar>(bound);
}

/// nn.ReLU6 and nn.Hardtanh call hardtanh, everything else clamp.
bool IsHardtanh(const at::Tensor& x, const std::optional<at::Scalar>& low,
                const std::optional<at::Scalar>& high) {
  if (!x.is_floating_point() || !low || !high) return false;
  const double min = low->toDouble();
  const double max = high->toDouble();
  return (min == 0 && max == 6) || (min == -1 && max == 1);
}

at::Tensor ClipToNumbers(const at::Tensor& x,
                         const std::optional<at::Scalar>& low,
                         const std::optional<at::Scalar>& high) {
  if (!low && !high) return x;
  if (IsHardtanh(x, low, high)) return at::hardtanh(x, *low, *high);
  return at::clamp(x, low, high);
}

/// Versions 1 to 10: bounds are attributes.
void LowerClipWithAttributes(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const auto bound = [&](const char* name) -> std::optional<at::Scalar> {
    if (!ctx.HasAttribute(name)) return std::nullopt;
    return Effective(ctx.FloatAttribute(name, 0), x.scalar_type());
  };
  ctx.Set(0, ClipToNumbers(x, bound("min"), bound("max")));
}

/// Bounds that are not known as numbers, or of a type without kernels.
at::Tensor ClipToTensors(NodeContext& ctx, const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  const auto bound = [&](size_t i) -> std::optional<at::Tensor> {
    if (!ctx.Has(i)) return std::nullopt;
    return Ordered(ctx.Operand(i));
  };
  const std::optional<at::Tensor> low = bound(1);
  const std::optional<at::Tensor> high = bound(2);
  if (!low && !high) return x;
  const at::Tensor y = at::clamp(Ordered(x), low, high);
  return IsWideUnsigned(type) ? FromOrdered(y, type) : y;
}

void LowerClip(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const auto is_number = [&](size_t i) { return !ctx.Has(i) || ctx.IsHost(i); };
  if (!is_number(1) || !is_number(2) || IsWideUnsigned(x.scalar_type())) {
    ctx.Set(0, ClipToTensors(ctx, x));
    return;
  }
  const auto bound = [&](size_t i) -> std::optional<at::Scalar> {
    if (!ctx.Has(i)) return std::nullopt;
    return Effective(HostScalar(ctx, i), x.scalar_type());
  };
  ctx.Set(0, ClipToNumbers(x, bound(1), bound(2)));
}

constexpr OnnxOperator kElementwiseOperators[] = {
    // Versions below 7 of the binary operators: see SecondOperand.
    {"Abs", {1, kAny}, &LowerAbs},
    {"Acos", {7, kAny}, &LowerNumeric<at::acos>},
    {"Acosh", {9, kAny}, &LowerNumeric<at::acosh>},
    {"Add", {1, kAny}, &LowerModular<&Plus>},
    {"Asin", {7, kAny}, &LowerNumeric<at::asin>},
    {"Asinh", {9, kAny}, &LowerNumeric<at::asinh>},
    {"Atan", {7, kAny}, &LowerNumeric<at::atan>},
    {"Atanh", {9, kAny}, &LowerNumeric<at::atanh>},
    {"Ceil", {1, kAny}, &LowerNumeric<at::ceil>},
    {"Clip", {1, 10}, &LowerClipWithAttributes},
    {"Clip", {11, kAny}, &LowerClip},
    {"Cos", {7, kAny}, &LowerNumeric<at::cos>},
    {"Cosh", {9, kAny}, &LowerNumeric<at::cosh>},
    {"Div", {1, kAny}, &LowerDiv},
    {"Erf", {9, kAny}, &LowerNumeric<at::erf>},
    {"Exp", {1, kAny}, &LowerNumeric<at::exp>},
    {"Floor", {1, kAny}, &LowerNumeric<at::floor>},
    {"Log", {1, kAny}, &LowerNumeric<at::log>},
    {"Max", {1, kAny}, &LowerExtreme<&at::maximum>},
    {"Mean", {1, kAny}, &LowerMean},
    {"Min", {1, kAny}, &LowerExtreme<&at::minimum>},
    {"Mod", {10, kAny}, &LowerMod},
    {"Mul", {1, kAny}, &LowerModular<&Times>},
    {"Neg", {1, kAny}, &LowerNumeric<at::neg>},
    {"Pow", {1, kAny}, &LowerPow},
    {"Reciprocal", {1, kAny}, &LowerNumeric<at::reciprocal>},
    {"Round", {11, kAny}, &LowerNumeric<at::round>},
    {"Sign", {9, kAny}, &LowerSign},
    {"Sin", {7, kAny}, &LowerNumeric<at::sin>},
    {"Sinh", {9, kAny}, &LowerNumeric<at::sinh>},
    {"Sqrt", {1, kAny}, &LowerNumeric<at::sqrt>},
    {"Sub", {1, kAny}, &LowerModular<&Minus>},
    {"Sum", {1, kAny}, &LowerSum},
    {"Tan", {7, kAny}, &LowerNumeric<at::tan>},
};

}  // namespace

std::span<const OnnxOperator> ElementwiseOperators() {
  return kElementwiseOperators;
}

}  // namespace foretell::onnx
