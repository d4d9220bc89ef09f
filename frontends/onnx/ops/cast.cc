#include "frontends/onnx/ops/cast.h"

#include <ATen/ops/clamp.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/ldexp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <tuple>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

/// Largest finite number of an 8-bit floating-point type with a sign; 0 for
/// every other type.
double LargestOfFloat8(at::ScalarType type) {
  switch (type) {
    case at::kFloat8_e4m3fn:
      return 448;
    case at::kFloat8_e4m3fnuz:
      return 240;
    case at::kFloat8_e5m2:
    case at::kFloat8_e5m2fnuz:
      return 57344;
    default:
      return 0;
  }
}

/// `x` as powers of two, the only numbers of FLOAT8E8M0, rounded as the node's
/// round_mode says. With x = m · 2^e and m in [0.5, 1), the powers around x are
/// 2^(e − 1) and 2^e.
at::Tensor CastToExponents(const NodeContext& ctx, const at::Tensor& x) {
  constexpr double kSmallestExponent = -127, kLargestExponent = 127;
  const std::string mode = ctx.StringAttribute("round_mode", "up");
  const auto [mantissa, exponent] = at::frexp(x.to(at::kFloat));
  at::Tensor lower;
  if (mode == "up") {
    lower = mantissa.le(0.5);
  } else if (mode == "down") {
    lower = at::ones_like(mantissa, at::TensorOptions().dtype(at::kBool));
  } else if (mode == "nearest") {
    lower = mantissa.lt(0.75);
  } else {
    ctx.Fail(ErrorCode::kCorrupt,
             "round_mode is '" + mode + "', expected up, down or nearest");
  }
  const at::Tensor power =
      at::clamp(exponent.to(at::kInt).sub(lower.to(at::kInt)),
                kSmallestExponent, kLargestExponent);
  return at::ldexp(at::ones_like(mantissa), power).to(at::kFloat8_e8m0fnu);
}

at::Tensor Cast(const NodeContext& ctx, const at::Tensor& x,
                at::ScalarType type) {
  if (x.scalar_type() == type) return x;
  const bool saturate = ctx.IntAttribute("saturate", 1) != 0;
  if (type == at::kFloat8_e8m0fnu) {
    if (!saturate) {
      ctx.Fail(ErrorCode::kUnsupported,
               "saturate = 0 for a conversion to FLOAT8E8M0");
    }
    return CastToExponents(ctx, x);
  }
  if (IsSmallFloat(type)) return CastToFloat8(x, type, saturate);
  return CastTo(x, type);
}

}  // namespace

at::Tensor CastToFloat8(const at::Tensor& x, at::ScalarType type,
                        bool saturate) {
  if (x.scalar_type() == type || !saturate) return CastTo(x, type);
  const double largest = LargestOfFloat8(type);
  return CastTo(at::clamp(x.to(at::kFloat), -largest, largest), type);
}

void LowerCast(NodeContext& ctx) {
  ctx.RequireAttribute("to", Attribute::Kind::kInt);
  const at::ScalarType type = ctx.TypeOf(ctx.IntAttribute("to", kOnnxFloat));
  ctx.Set(0, Cast(ctx, ctx.Tensor(0), type));
}

void LowerCastLike(NodeContext& ctx) {
  const Value& like = ctx.Raw(1);
  const auto* tensor = std::get_if<at::Tensor>(&like);
  ctx.Check(tensor != nullptr, "target_type is not a tensor");
  ctx.Set(0, Cast(ctx, ctx.Tensor(0), tensor->scalar_type()));
}

void LowerBitCast(NodeContext& ctx) {
  ctx.RequireAttribute("to", Attribute::Kind::kInt);
  const at::ScalarType type = ctx.TypeOf(ctx.IntAttribute("to", kOnnxFloat));
  const at::Tensor x = ctx.Tensor(0);
  if (x.element_size() != static_cast<std::int64_t>(c10::elementSize(type))) {
    ctx.Fail(ErrorCode::kCorrupt, "elements of " +
                                      std::to_string(x.element_size()) +
                                      " bytes cannot become ones of " +
                                      std::to_string(c10::elementSize(type)));
  }
  ctx.Set(0, x.view(type));
}

}  // namespace foretell::onnx
