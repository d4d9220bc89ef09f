#include <ATen/ATen.h>

#include <limits>
#include <string>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

/// Operators whose kernels exist for every type that ONNX allows there. Those
/// of logic need both operands on the device.
template <BinaryFunction function>
void LowerBinary(NodeContext& ctx) {
  at::Tensor a = ctx.Operand(0);
  at::Tensor b = SecondOperand(ctx, a);
  if (a.device() != b.device()) {
    a = ctx.Tensor(0);
    b = ctx.Tensor(1);
  }
  ctx.Set(0, function(a, b));
}

template <BinaryFunction function>
void LowerComparison(NodeContext& ctx) {
  const at::Tensor a = ctx.Operand(0);
  ctx.Set(0, function(Ordered(a), Ordered(SecondOperand(ctx, a))));
}

void LowerNot(NodeContext& ctx) { ctx.Set(0, at::logical_not(ctx.Tensor(0))); }

/// One of the values may be a number on the host; with two, ATen could not know
/// the precision of the run. The number gets the other's type, which it would
/// otherwise widen if both have no dimension.
void LowerWhere(NodeContext& ctx) {
  at::Tensor x = ctx.Operand(1);
  const bool is_number = x.is_cpu() && !ctx.OnHost();
  at::Tensor y = is_number ? ctx.Tensor(2) : ctx.Operand(2);
  if (x.is_cpu()) x = CastTo(x, y.scalar_type());
  if (y.is_cpu()) y = CastTo(y, x.scalar_type());
  ctx.Set(0, at::where(ctx.Tensor(0), x, y));
}

void LowerIsNaN(NodeContext& ctx) {
  ctx.Set(0, at::isnan(Computable(ctx.Tensor(0))));
}

void LowerIsInf(NodeContext& ctx) {
  const at::Tensor x = Computable(ctx.Tensor(0));
  const bool negative = ctx.IntAttribute("detect_negative", 1) != 0;
  const bool positive = ctx.IntAttribute("detect_positive", 1) != 0;
  if (negative && positive) {
    ctx.Set(0, at::isinf(x));
  } else if (negative) {
    ctx.Set(0, at::isneginf(x));
  } else if (positive) {
    ctx.Set(0, at::isposinf(x));
  } else {
    ctx.Set(0, at::zeros_like(x, x.options().dtype(at::kBool)));
  }
}

// ---- Bits ------------------------------------------------------------------

void LowerBitwiseNot(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  ctx.Set(0, CastTo(at::bitwise_not(Computable(x)), x.scalar_type()));
}

/// Right shift of 64-bit patterns held in int64 that brings in zeros. ATen
/// shifts by more than the width (or a negative amount) as if by the width.
at::Tensor LogicalRightShift(const at::Tensor& x, const at::Tensor& amount) {
  const at::Tensor half = at::bitwise_right_shift(x, 1).bitwise_and(
      std::numeric_limits<std::int64_t>::max());
  const at::Tensor shifted = at::bitwise_right_shift(half, amount - 1);
  return at::where(at::eq(amount, 0), x, shifted);
}

/// Amounts beyond the width give the same as extending only the sign.
void LowerBitShift(NodeContext& ctx) {
  const at::Tensor input = ctx.Operand(0);
  const at::ScalarType type = input.scalar_type();
  const at::Tensor x = Computable(input);
  const at::Tensor amount = Computable(ctx.Operand(1));
  const std::string direction = ctx.StringAttribute("direction", "");
  at::Tensor y;
  if (direction == "LEFT") {
    y = at::bitwise_left_shift(x, amount);
  } else if (direction != "RIGHT") {
    FailAttribute(ctx, "direction", direction);
  } else if (type == at::kUInt64) {
    y = LogicalRightShift(x, amount);
  } else {
    y = at::bitwise_right_shift(x, amount);
  }
  ctx.Set(0, CastTo(y, type));
}

constexpr OnnxOperator kLogicOperators[] = {
    {"And", {1, kAny}, &LowerBinary<&at::logical_and>},
    {"BitShift", {11, kAny}, &LowerBitShift},
    {"BitwiseAnd", {18, kAny}, &LowerBinary<&at::bitwise_and>},
    {"BitwiseNot", {18, kAny}, &LowerBitwiseNot},
    {"BitwiseOr", {18, kAny}, &LowerBinary<&at::bitwise_or>},
    {"BitwiseXor", {18, kAny}, &LowerBinary<&at::bitwise_xor>},
    {"Equal", {1, kAny}, &LowerComparison<&at::eq>},
    {"Greater", {1, kAny}, &LowerComparison<&at::gt>},
    {"GreaterOrEqual", {12, kAny}, &LowerComparison<&at::ge>},
    {"IsInf", {10, kAny}, &LowerIsInf},
    {"IsNaN", {9, kAny}, &LowerIsNaN},
    {"Less", {1, kAny}, &LowerComparison<&at::lt>},
    {"LessOrEqual", {12, kAny}, &LowerComparison<&at::le>},
    {"Not", {1, kAny}, &LowerNot},
    {"Or", {1, kAny}, &LowerBinary<&at::logical_or>},
    {"Where", {9, kAny}, &LowerWhere},
    {"Xor", {1, kAny}, &LowerBinary<&at::logical_xor>},
};

}  // namespace

std::span<const OnnxOperator> LogicOperators() { return kLogicOperators; }

}  // namespace foretell::onnx
