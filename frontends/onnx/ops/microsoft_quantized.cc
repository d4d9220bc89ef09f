// Operators of com.microsoft on tensors of 8 bits and less, as onnxruntime's
// quantizer writes them (onnxruntime 1.32, core/graph/contrib_ops). Eager
// PyTorch can do no more than dequantize what comes in, run the plain operator
// and quantize its result; weights are unpacked by one kernel each
// (packed_weights.h).
#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/microsoft_attention.h"
#include "frontends/onnx/ops/packed_weights.h"
#include "frontends/onnx/ops/pooling.h"
#include "frontends/onnx/ops/quantization.h"
#include "frontends/onnx/ops/recurrent.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

constexpr std::string_view kContribDomain = "com.microsoft";

/// What input `i`, with its scale and zero point behind it, stands for.
at::Tensor NumbersAt(NodeContext& ctx, size_t i) {
  return Dequantized(ctx.Tensor(i), ctx.Tensor(i + 1),
                     ZeroPointInput(ctx, i + 2));
}

/// Sets output 0 to `y`, quantized by the scale that is input `i` and the zero
/// point behind it, to the zero point's type or that of input `like`.
void SetQuantized(NodeContext& ctx, const at::Tensor& y, size_t i,
                  size_t like = 0) {
  const at::Tensor zero_point = ZeroPointInput(ctx, i + 1);
  const at::ScalarType type = zero_point.defined()
                                  ? zero_point.scalar_type()
                                  : ctx.Tensor(like).scalar_type();
  ctx.Set(0, Quantized(ctx, y, ctx.Tensor(i), zero_point, type));
}

// ---- Element by element ----------------------------------------------------

void LowerQLinearAdd(NodeContext& ctx) {
  const at::Tensor a = NumbersAt(ctx, 0);
  SetQuantized(ctx, a + NumbersAt(ctx, 3), 6);
}

void LowerQLinearMul(NodeContext& ctx) {
  const at::Tensor a = NumbersAt(ctx, 0);
  SetQuantized(ctx, a * NumbersAt(ctx, 3), 6);
}

void LowerQLinearLeakyRelu(NodeContext& ctx) {
  SetQuantized(
      ctx, at::leaky_relu(NumbersAt(ctx, 0), ctx.FloatAttribute("alpha", 0.01)),
      3);
}

void LowerQLinearSigmoid(NodeContext& ctx) {
  SetQuantized(ctx, at::sigmoid(NumbersAt(ctx, 0)), 3);
}

void LowerQLinearWhere(NodeContext& ctx) {
  const at::Tensor x = NumbersAt(ctx, 1);
  SetQuantized(
      ctx, at::where(CastTo(ctx.Tensor(0), at::kBool), x, NumbersAt(ctx, 4)), 7,
      1);
}

/// Before version 13 of Softmax the axes from `axis` on are one.
void LowerQLinearSoftmax(NodeContext& ctx) {
  constexpr std::int64_t kAlongOneAxis = 13;
  const at::Tensor x = NumbersAt(ctx, 0);
  const bool is_one =
      ctx.RequireAttribute("opset", Attribute::Kind::kInt).i >= kAlongOneAxis;
  const std::int64_t axis = AxisAttribute(ctx, is_one ? -1 : 1, x.dim());
  if (is_one) return SetQuantized(ctx, at::softmax(x, axis), 3);
  SetQuantized(ctx, at::softmax(x.flatten(axis), axis).view(x.sizes()), 3);
}

// ---- Reductions and layouts ------------------------------------------------

void LowerQLinearReduceMean(NodeContext& ctx) {
  const at::Tensor x = NumbersAt(ctx, 0);
  const std::vector<std::int64_t> axes =
      NormalizeAxes(ctx, ctx.IntsAttribute("axes", Iota(x.dim())), x.dim());
  SetQuantized(ctx, at::mean(x, axes, ctx.IntAttribute("keepdims", 1) != 0), 3);
}

void LowerQLinearConcat(NodeContext& ctx) {
  constexpr size_t kFirst = 2, kOfEach = 3;
  std::vector<at::Tensor> parts;
  for (size_t i = kFirst; i + 1 < ctx.num_inputs(); i += kOfEach) {
    parts.push_back(NumbersAt(ctx, i));
  }
  ctx.Check(!parts.empty(), "no input");
  const std::int64_t axis =
      NormalizeAxis(ctx, ctx.RequireAttribute("axis", Attribute::Kind::kInt).i,
                    parts[0].dim());
  SetQuantized(ctx, at::cat(parts, axis), 0, kFirst);
}

using Pool = at::Tensor (*)(NodeContext&, const at::Tensor&);

void LowerPool(NodeContext& ctx, Pool pool) {
  const bool channels_last = ctx.IntAttribute("channels_last", 0) != 0;
  const at::Tensor x = NumbersAt(ctx, 0);
  const at::Tensor y = pool(ctx, channels_last ? x.movedim(-1, 1) : x);
  SetQuantized(ctx, channels_last ? y.movedim(1, -1) : y, 3);
}

void LowerQLinearAveragePool(NodeContext& ctx) { LowerPool(ctx, &AveragePool); }

void LowerQLinearGlobalAveragePool(NodeContext& ctx) {
  LowerPool(ctx, &GlobalAveragePool);
}

// ---- Products --------------------------------------------------------------

/// Weight of `codes` in the type of its scale, of the same shape. A scale per
/// row of a matrix has to be a column.
at::Tensor UnpackedMatrix(const PackedWeight& weight) {
  return UnpackedWeight(
      weight, weight.codes.sizes(), weight.scales.scalar_type(),
      [&] { return Dequantized(weight.codes, weight.scales, weight.zeros); });
}

/// a · weight + bias (which may be undefined).
at::Tensor ProductWith(const at::Tensor& a, const at::Tensor& weight,
                       const at::Tensor& bias) {
  if (weight.dim() == 2) return at::linear(a, weight.t(), bias);
  const at::Tensor y = at::matmul(a, weight);
  return bias.defined() ? y + bias : y;
}

void LowerMatMulIntegerToFloat(NodeContext& ctx) {
  const at::Tensor a =
      Dequantized(ctx.Tensor(0), ctx.Tensor(2), ZeroPointInput(ctx, 4));
  const at::Tensor weight =
      UnpackedMatrix({ctx.Tensor(1), ctx.Tensor(3), ctx.OptionalTensor(5)});
  ctx.Set(0, ProductWith(a, weight, ctx.OptionalTensor(6)));
}

void LowerDynamicQuantizeMatMul(NodeContext& ctx) {
  const DynamicCodes codes = QuantizeDynamically(ctx, ctx.Tensor(0));
  const at::Tensor a = Dequantized(codes.codes, codes.scale, codes.zero_point);
  const at::Tensor weight =
      UnpackedMatrix({ctx.Tensor(1), ctx.Tensor(2), ctx.OptionalTensor(3)});
  ctx.Set(0, ProductWith(a, weight, ctx.OptionalTensor(4)));
}

/// A parameter per row of a matrix as a column.
at::Tensor AsColumn(const at::Tensor& parameter) {
  const bool is_list = parameter.defined() && parameter.numel() > 1;
  return is_list ? parameter.reshape({-1, 1}) : parameter;
}

/// The int32 input C counts in steps of alpha times both scales.
void LowerQGemm(NodeContext& ctx) {
  const at::Tensor numbers = NumbersAt(ctx, 0);
  const bool by_rows = ctx.IntAttribute("transB", 0) != 0;
  const at::Tensor scale = ctx.Tensor(4), zero = ctx.OptionalTensor(5);
  const at::Tensor matrix =
      UnpackedMatrix({ctx.Tensor(3), by_rows ? AsColumn(scale) : scale,
                      by_rows ? AsColumn(zero) : zero});
  const double alpha = ctx.FloatAttribute("alpha", 1.0);
  at::Tensor y =
      at::linear(ctx.IntAttribute("transA", 0) != 0 ? numbers.t() : numbers,
                 by_rows ? matrix : matrix.t());
  if (alpha != 1.0) y = y * alpha;
  if (ctx.Has(6)) {
    y = y + CastTo(ctx.Tensor(6), y.scalar_type()) *
                (ctx.Tensor(1) * scale * alpha);
  }
  if (!ctx.Has(8)) return ctx.Set(0, y);
  SetQuantized(ctx, y, 7);
}

void LowerQAttention(NodeContext& ctx) {
  constexpr size_t kMask = 5, kPast = 8, kAbsent = 9;
  const at::Tensor x =
      Dequantized(ctx.Tensor(0), ctx.Tensor(3), ZeroPointInput(ctx, 6));
  const at::Tensor weight =
      UnpackedMatrix({ctx.Tensor(1), ctx.Tensor(4), ctx.OptionalTensor(7)});
  AttendProjected(ctx, at::linear(x, weight.t(), ctx.OptionalTensor(2)),
                  {.mask = kMask, .past = kPast, .bias = kAbsent});
}

/// The weight [directions, 4 · H, columns] that input `i` holds as [directions,
/// columns, 4 · H]; input `scale` has one number per direction, or per row.
at::Tensor LstmWeight(NodeContext& ctx, size_t i, size_t scale) {
  const auto spread = [](const at::Tensor& parameter) {
    if (parameter.dim() != 1) return parameter.unsqueeze(1);
    return parameter.reshape({-1, 1, 1});
  };
  const PackedWeight packed = {ctx.Tensor(i), spread(ctx.Tensor(scale)),
                               spread(ctx.Tensor(scale + 1))};
  ctx.Check(packed.codes.dim() == 3, "input {} has rank {}, expected 3", i,
            packed.codes.dim());
  const at::Tensor& codes = packed.codes;
  return UnpackedWeight(
      packed, {codes.size(0), codes.size(2), codes.size(1)},
      packed.scales.scalar_type(), [&] {
        return Dequantized(codes, packed.scales, packed.zeros).transpose(1, 2);
      });
}

void LowerDynamicQuantizeLstm(NodeContext& ctx) {
  const at::Tensor input = LstmWeight(ctx, 1, 8);
  LowerLstmWith(ctx, {input, LstmWeight(ctx, 2, 10)});
}

constexpr OnnxOperator kMicrosoftQuantizedOperators[] = {
    {"DynamicQuantizeLSTM",
     {1, kAny},
     &LowerDynamicQuantizeLstm,
     kContribDomain},
    {"DynamicQuantizeMatMul",
     {1, kAny},
     &LowerDynamicQuantizeMatMul,
     kContribDomain},
    {"GatherBlockQuantized",
     {1, kAny},
     &LowerGatherBlockQuantized,
     kContribDomain},
    {"MatMulIntegerToFloat",
     {1, kAny},
     &LowerMatMulIntegerToFloat,
     kContribDomain},
    {"MatMulNBits", {1, kAny}, &LowerMatMulNBits, kContribDomain},
    {"QAttention", {1, kAny}, &LowerQAttention, kContribDomain},
    {"QGemm", {1, kAny}, &LowerQGemm, kContribDomain},
    {"QLinearAdd", {1, kAny}, &LowerQLinearAdd, kContribDomain},
    {"QLinearAveragePool", {1, kAny}, &LowerQLinearAveragePool, kContribDomain},
    {"QLinearConcat", {1, kAny}, &LowerQLinearConcat, kContribDomain},
    {"QLinearGlobalAveragePool",
     {1, kAny},
     &LowerQLinearGlobalAveragePool,
     kContribDomain},
    {"QLinearLeakyRelu", {1, kAny}, &LowerQLinearLeakyRelu, kContribDomain},
    {"QLinearMul", {1, kAny}, &LowerQLinearMul, kContribDomain},
    {"QLinearReduceMean", {1, kAny}, &LowerQLinearReduceMean, kContribDomain},
    {"QLinearSigmoid", {1, kAny}, &LowerQLinearSigmoid, kContribDomain},
    {"QLinearSoftmax", {1, kAny}, &LowerQLinearSoftmax, kContribDomain},
    {"QLinearWhere", {1, kAny}, &LowerQLinearWhere, kContribDomain},
};

}  // namespace

std::span<const OnnxOperator> MicrosoftQuantizedOperators() {
  return kMicrosoftQuantizedOperators;
}

}  // namespace foretell::onnx
