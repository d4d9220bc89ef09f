#include "frontends/onnx/ops/cast.h"

#include <ATen/ATen.h>
#include <c10/core/ScalarType.h>

#include <limits>
#include <string>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/small_types.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"
#include "src/program/meta/in_autocast.h"

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

/// `x` as powers of two from 2^−127 to 2^127, the only numbers of FLOAT8E8M0,
/// rounded by the node's round_mode. With x = m · 2^e and m in [0.5, 1),
/// the powers around x are 2^(e − 1) and 2^e.
at::Tensor CastToExponents(const NodeContext& ctx, const at::Tensor& x) {
  constexpr double kSmallest = 0x1p-127, kLargest = 0x1p127;
  const std::string mode = ctx.StringAttribute("round_mode", "up");
  const at::Tensor bounded =
      at::clamp(CastTo(x, at::kFloat), kSmallest, kLargest);
  const auto [mantissa, exponent] = at::frexp(bounded);
  at::Tensor lower;
  if (mode == "up") {
    lower = mantissa.le(0.5);
  } else if (mode == "down") {
    lower = at::ones_like(mantissa, at::TensorOptions().dtype(at::kBool));
  } else if (mode == "nearest") {
    lower = mantissa.lt(0.75);
  } else {
    ctx.Fail(ErrorCode::kCorrupt,
             "round_mode is '{}', expected up, down or nearest", mode);
  }
  const at::Tensor power = exponent.to(at::kInt).sub(lower.to(at::kInt));
  return at::ldexp(at::ones_like(mantissa), power)
      .masked_fill(bounded.isnan(), std::numeric_limits<double>::quiet_NaN())
      .to(at::kFloat8_e8m0fnu);
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
  // Autocast reconciles types of operands; a cast is what the file asks for.
  return IsSmallType(x.scalar_type()) || IsSmallType(type) ? CastTo(x, type)
                                                           : x.to(type);
}

}  // namespace

at::Tensor CastToFloat8(const at::Tensor& x, at::ScalarType type,
                        bool saturate) {
  if (x.scalar_type() == type || IsSmallType(type)) return CastTo(x, type);
  if (!saturate && type == at::kFloat8_e4m3fn) {
    // ATen saturates here; 464 is the last to round to the largest number.
    constexpr double kLargestThatFits = 464;
    const at::Tensor exact = CastTo(x, at::kFloat);
    return CastTo(exact.masked_fill(exact.abs().gt(kLargestThatFits),
                                    std::numeric_limits<double>::quiet_NaN()),
                  type);
  }
  if (!saturate) return CastTo(x, type);
  const double largest = LargestOfFloat8(type);
  return CastTo(at::clamp(CastTo(x, at::kFloat), -largest, largest), type);
}

void LowerCast(NodeContext& ctx) {
  ctx.RequireAttribute("to", Attribute::Kind::kInt);
  const at::ScalarType type = ctx.TypeOf(ctx.IntAttribute("to", kOnnxFloat));
  const at::Tensor x = ctx.Tensor(0);
  // Autocast alone makes 16 bits of a file in FP32, in which the cast does
  // nothing. Exporters write it for `.float()` and leave out the
  // `.to(x.dtype)` that follows: with one of the two, everything behind it
  // would be in FP32.
  const bool is_of_autocast = in_autocast && type == at::kFloat &&
                              c10::isReducedFloatingType(x.scalar_type());
  ctx.Set(0, is_of_autocast ? x : Cast(ctx, x, type));
}

void LowerCastLike(NodeContext& ctx) {
  const Value& like = ctx.Raw(1);
  const auto* tensor = std::get_if<at::Tensor>(&like);
  ctx.Check(tensor != nullptr, "target_type is not a tensor");
  // Only the type of `like` matters: a value on the host stays there.
  const auto* x = std::get_if<at::Tensor>(&ctx.Raw(0));
  const bool on_host = x != nullptr && x->device().is_cpu();
  ctx.Set(0, Cast(ctx, on_host ? ctx.Host(0) : ctx.Tensor(0),
                  tensor->scalar_type()));
}

void LowerBitCast(NodeContext& ctx) {
  ctx.RequireAttribute("to", Attribute::Kind::kInt);
  const at::ScalarType type = ctx.TypeOf(ctx.IntAttribute("to", kOnnxFloat));
  const at::Tensor x = ctx.Tensor(0);
  if (x.element_size() != static_cast<std::int64_t>(c10::elementSize(type))) {
    ctx.Fail(ErrorCode::kCorrupt, "elements of {} cannot become ones of {}",
             Counted(x.element_size(), "byte"), c10::elementSize(type));
  }
  ctx.Set(0, x.view(type));
}

}  // namespace foretell::onnx
