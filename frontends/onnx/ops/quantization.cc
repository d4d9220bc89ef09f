// Linear quantization: q = saturate(round(x / scale) + zero_point).
//
// Integer products are exact in ONNX. ATen multiplies integer matrices on the
// CPU only and convolves none, so they are computed there in int32 and in
// double, which holds every sum of 16-bit products exactly; elsewhere in float,
// which is what an eager program can do on a GPU.
#include "frontends/onnx/ops/quantization.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/cast.h"
#include "frontends/onnx/ops/convolution.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/packed_weights.h"
#include "frontends/onnx/ops/small_types.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

/// Smallest and largest value of an integer type that tensors quantize to.
struct IntegerRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

IntegerRange RangeOf(const NodeContext& ctx, at::ScalarType type) {
  switch (type) {
    case at::kByte:
      return {0, 255};
    case at::kChar:
      return {-128, 127};
    case at::kUInt16:
      return {0, 65535};
    case at::kShort:
      return {-32768, 32767};
    case at::kUInt4:
      return {0, 15};
    case at::kInt4:
      return {-8, 7};
    case at::kUInt2:
      return {0, 3};
    case at::kInt2:
      return {-2, 1};
    default:
      ctx.Fail(ErrorCode::kUnsupported, "quantization to {}",
               c10::toString(type));
  }
}

/// A scale or zero point in the shape that broadcasts with a tensor of `shape`:
/// one for all, one per element of the axis, or one per block along it.
at::Tensor Spread(const NodeContext& ctx, const at::Tensor& parameter,
                  at::IntArrayRef shape) {
  if (parameter.dim() == 0) return parameter;
  const std::int64_t block = ctx.IntAttribute("block_size", 0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (block == 0 && parameter.numel() == 1) return parameter.reshape({});
  const std::int64_t axis = AxisAttribute(ctx, 1, rank);
  const std::int64_t size = shape[static_cast<size_t>(axis)];
  if (block == 0) {
    ctx.Check(parameter.dim() == 1 && parameter.numel() == size,
              "the scale has {}, expected {}",
              Counted(parameter.numel(), "element"), size);
    Ints spread(shape.size(), 1);
    spread[static_cast<size_t>(axis)] = size;
    return parameter.reshape(spread);
  }
  ctx.Check(block > 0 && parameter.dim() == rank &&
                parameter.size(axis) == (size + block - 1) / block,
            "block_size {} does not fit the scale's shape", block);
  return Computable(parameter)
      .repeat_interleave(block, axis)
      .slice(axis, 0, size);
}

/// `x` rounded, shifted by the zero point and clamped to `type`. Half precision
/// does not hold every 16-bit integer, float does. Each step drops what it
/// read, as Python does with results that have no name.
at::Tensor RoundTo(const NodeContext& ctx, at::Tensor x,
                   const at::Tensor& zero_point, at::ScalarType type) {
  const IntegerRange range = RangeOf(ctx, type);
  x = at::round(x);
  if (x.scalar_type() != at::kDouble) x = CastTo(x, at::kFloat);
  if (zero_point.defined()) x = x.add(CastTo(zero_point, x.scalar_type()));
  x = at::clamp(x, range.low, range.high);
  return CastTo(x, type);
}

/// `x` in `type` less its zero point, which may be absent.
at::Tensor Shifted(const at::Tensor& x, const at::Tensor& zero_point,
                   at::ScalarType type) {
  const at::Tensor wide = CastTo(x, type);
  return zero_point.defined() ? wide.sub(CastTo(zero_point, type)) : wide;
}

}  // namespace

at::Tensor ZeroPointInput(NodeContext& ctx, size_t i) {
  return ctx.Has(i) ? ctx.Operand(i) : at::Tensor();
}

at::Tensor Dequantized(const at::Tensor& x, const at::Tensor& scale,
                       const at::Tensor& zero_point) {
  return CastTo(
      Shifted(x, zero_point, at::kFloat).mul(CastTo(scale, at::kFloat)),
      scale.scalar_type());
}

at::Tensor Quantized(const NodeContext& ctx, const at::Tensor& y,
                     const at::Tensor& scale, const at::Tensor& zero_point,
                     at::ScalarType type) {
  return RoundTo(ctx, y.div(scale), zero_point, type);
}

DynamicCodes QuantizeDynamically(const NodeContext& ctx, const at::Tensor& x) {
  constexpr double kLevels = 255;
  const at::Tensor high = at::amax(x).clamp_min(0);
  const at::Tensor low = at::amin(x).clamp_max(0);
  const at::Tensor scale = high.sub(low).div(kLevels);
  const at::Tensor zero_point =
      at::round(at::clamp(low.div(scale).neg(), 0, kLevels));
  return {RoundTo(ctx, x.div(scale), zero_point, at::kByte), scale,
          zero_point.to(at::kByte)};
}

namespace {

// ---- QuantizeLinear and its inverse ----------------------------------------

at::ScalarType QuantizedType(const NodeContext& ctx,
                             const at::Tensor& zero_point) {
  if (zero_point.defined()) return zero_point.scalar_type();
  const std::int64_t code = ctx.IntAttribute("output_dtype", 0);
  return code == 0 ? at::kByte : ctx.TypeOf(code);
}

/// The type in which `x` is divided by its scale.
at::ScalarType DivisionType(const NodeContext& ctx, const at::Tensor& x,
                            const at::Tensor& scale) {
  const std::int64_t code = ctx.IntAttribute("precision", 0);
  if (code != 0) return ctx.TypeOf(code);
  const at::ScalarType common =
      c10::promoteTypes(x.scalar_type(), scale.scalar_type());
  return at::isFloatingType(common) ? common : at::kFloat;
}

void LowerQuantizeLinear(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor given_scale = ctx.Tensor(1);
  const at::Tensor zero_point = ZeroPointInput(ctx, 2);
  const at::ScalarType type = QuantizedType(ctx, zero_point);
  const at::ScalarType computed = DivisionType(ctx, x, given_scale);
  const at::Tensor scale =
      Spread(ctx, CastTo(given_scale, computed), x.sizes());
  at::Tensor quotient = CastTo(x, computed).div(scale);
  if (IsSmallFloat(type)) {
    ctx.Set(0,
            CastToFloat8(quotient, type, ctx.IntAttribute("saturate", 1) != 0));
    return;
  }
  const at::Tensor shift =
      zero_point.defined() ? Spread(ctx, zero_point, x.sizes()) : at::Tensor();
  ctx.Set(0, RoundTo(ctx, std::move(quotient), shift, type));
}

/// True if one kernel dequantizes: codes that are smaller than a byte, or in
/// blocks, as libraries hold weights of few bits.
bool IsUnpacked(const NodeContext& ctx, const at::Tensor& x) {
  return IsSmallType(x.scalar_type()) || ctx.IntAttribute("block_size", 0) > 0;
}

void LowerDequantizeLinear(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor scale = ctx.Tensor(1);
  const at::Tensor zero_point = ZeroPointInput(ctx, 2);
  const std::int64_t code = ctx.IntAttribute("output_dtype", 0);
  const at::ScalarType type =
      code == 0 ? scale.scalar_type() : ctx.TypeOf(code);
  const auto dequantized = [&] {
    const at::Tensor shift = zero_point.defined()
                                 ? Spread(ctx, zero_point, x.sizes())
                                 : at::Tensor();
    return CastTo(
        Dequantized(x, Spread(ctx, CastTo(scale, at::kFloat), x.sizes()),
                    shift),
        type);
  };
  if (!IsUnpacked(ctx, x)) return ctx.Set(0, dequantized());
  ctx.Set(0, UnpackedWeight({x, scale, ctx.OptionalTensor(2)}, x.sizes(), type,
                            dequantized));
}

void LowerDynamicQuantizeLinear(NodeContext& ctx) {
  const DynamicCodes y = QuantizeDynamically(ctx, ctx.Tensor(0));
  ctx.Set(0, y.codes);
  ctx.Set(1, y.scale);
  ctx.Set(2, y.zero_point);
}

// ---- Integer products ------------------------------------------------------

at::ScalarType ProductType(const at::Tensor& x, at::ScalarType on_cpu) {
  return x.device().is_cpu() ? on_cpu : at::kFloat;
}

/// A parameter per row of the matrices `x`: a vector becomes a column.
at::Tensor PerRow(const at::Tensor& parameter, const at::Tensor& x) {
  const bool is_vector = parameter.defined() && parameter.dim() == 1 &&
                         parameter.numel() > 1 && x.dim() > 1;
  return is_vector ? parameter.unsqueeze(1) : parameter;
}

at::Tensor ProductOfShifted(const at::Tensor& a, const at::Tensor& a_zero,
                            const at::Tensor& b, const at::Tensor& b_zero) {
  const at::ScalarType type = ProductType(a, at::kInt);
  return at::matmul(Shifted(a, PerRow(a_zero, a), type),
                    Shifted(b, b_zero, type));
}

void LowerMatMulInteger(NodeContext& ctx) {
  ctx.Set(0, CastTo(ProductOfShifted(ctx.Tensor(0), ctx.OptionalTensor(2),
                                     ctx.Tensor(1), ctx.OptionalTensor(3)),
                    at::kInt));
}

void LowerQLinearMatMul(NodeContext& ctx) {
  const at::Tensor a = ctx.Tensor(0);
  const at::Tensor y_zero = ctx.Tensor(7);
  if (IsSmallFloat(a.scalar_type()) || IsSmallFloat(y_zero.scalar_type())) {
    ctx.Fail(ErrorCode::kUnsupported, "matrices of {}",
             c10::toString(a.scalar_type()));
  }
  const at::Tensor product =
      ProductOfShifted(a, ctx.Tensor(2), ctx.Tensor(3), ctx.Tensor(5));
  const at::Tensor a_scale = CastTo(PerRow(ctx.Tensor(1), a), at::kFloat);
  const at::Tensor scale = a_scale.mul(CastTo(ctx.Tensor(4), at::kFloat))
                               .div(CastTo(ctx.Tensor(6), at::kFloat));
  ctx.Set(0, RoundTo(ctx, CastTo(product, at::kFloat).mul(scale), y_zero,
                     y_zero.scalar_type()));
}

/// A parameter per output channel of a convolution, for tensors of rank `rank`
/// whose channels are axis `axis`.
at::Tensor PerChannel(const at::Tensor& parameter, std::int64_t rank,
                      std::int64_t axis) {
  if (!parameter.defined() || parameter.dim() == 0) return parameter;
  Ints shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = parameter.numel();
  return parameter.reshape(shape);
}

at::Tensor ConvolveShifted(NodeContext& ctx, const at::Tensor& x,
                           const at::Tensor& x_zero, const at::Tensor& weight,
                           const at::Tensor& weight_zero) {
  const at::ScalarType type = ProductType(x, at::kDouble);
  const Ints kernel = weight.sizes().slice(2).vec();
  const Window window = ReadWindow(ctx, kernel, SpatialSizes(ctx, x));
  return Convolve(
      ctx, Shifted(x, PerChannel(x_zero, x.dim(), 1), type),
      Shifted(weight, PerChannel(weight_zero, weight.dim(), 0), type), {},
      window, ctx.IntAttribute("group", 1));
}

void LowerConvInteger(NodeContext& ctx) {
  ctx.Set(0, CastTo(ConvolveShifted(ctx, ctx.Tensor(0), ctx.OptionalTensor(2),
                                    ctx.Tensor(1), ctx.OptionalTensor(3)),
                    at::kInt));
}

void LowerQLinearConv(NodeContext& ctx) {
  const at::Tensor y_zero = ctx.Operand(7);
  const bool channels_last = ctx.IntAttribute("channels_last", 0) != 0;
  const at::Tensor x = ctx.Tensor(0);
  at::Tensor y = ConvolveShifted(ctx, channels_last ? x.movedim(-1, 1) : x,
                                 ctx.Operand(2), ctx.Tensor(3), ctx.Operand(5));
  if (ctx.Has(8)) {
    y = y.add(CastTo(PerChannel(ctx.Tensor(8), y.dim(), 1), y.scalar_type()));
  }
  const at::Tensor scale =
      CastTo(ctx.Tensor(1), at::kFloat)
          .mul(CastTo(PerChannel(ctx.Tensor(4), y.dim(), 1), at::kFloat))
          .div(CastTo(ctx.Tensor(6), at::kFloat));
  y = CastTo(y, at::kFloat).mul(scale);
  y = RoundTo(ctx, std::move(y), y_zero, y_zero.scalar_type());
  ctx.Set(0, channels_last ? y.movedim(1, -1) : y);
}

constexpr const char* kContrib = "com.microsoft";

constexpr OnnxOperator kQuantizationOperators[] = {
    {"ConvInteger", {10, kAny}, &LowerConvInteger},
    {"DequantizeLinear", {10, kAny}, &LowerDequantizeLinear},
    {"DynamicQuantizeLinear", {11, kAny}, &LowerDynamicQuantizeLinear},
    {"MatMulInteger", {10, kAny}, &LowerMatMulInteger},
    {"QLinearConv", {10, kAny}, &LowerQLinearConv},
    {"QLinearMatMul", {10, kAny}, &LowerQLinearMatMul},
    {"QuantizeLinear", {10, kAny}, &LowerQuantizeLinear},
    {"DequantizeLinear", {1, kAny}, &LowerDequantizeLinear, kContrib},
    {"QLinearConv", {1, kAny}, &LowerQLinearConv, kContrib},
    {"QuantizeLinear", {1, kAny}, &LowerQuantizeLinear, kContrib},
};

}  // namespace

std::span<const OnnxOperator> QuantizationOperators() {
  return kQuantizationOperators;
}

}  // namespace foretell::onnx
