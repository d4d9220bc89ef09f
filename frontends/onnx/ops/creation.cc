#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kOnnxInt32 = 6;
/// More elements than this in one created tensor are refused.
constexpr double kMaxCreated = 1e12;

/// Product of `shape`, which is checked before anything is allocated.
std::int64_t CheckedCount(const NodeContext& ctx, const Ints& shape) {
  double count = 1;
  for (const std::int64_t size : shape) {
    ctx.Check(size >= 0, "shape holds {}", size);
    count *= static_cast<double>(size);
  }
  if (count > kMaxCreated) {
    ctx.Fail(ErrorCode::kUnsupported, "a tensor of {:f} elements", count);
  }
  return Product(shape);
}

/// Options for a tensor of `type` at `place`, where float stands for the run's
/// precision.
at::TensorOptions OptionsAt(const NodeContext& ctx, at::ScalarType type,
                            at::Device place) {
  if (type == at::kFloat) type = ctx.TypeOf(kOnnxFloat, place);
  return at::TensorOptions().dtype(type).device(place);
}

// ---- Constants -------------------------------------------------------------

void LowerConstant(NodeContext& ctx) {
  const auto options = at::TensorOptions();
  if (ctx.HasAttribute("value")) {
    const Attribute& value =
        ctx.RequireAttribute("value", Attribute::Kind::kTensor);
    ctx.Set(0, ctx.Literal(value.tensors.front()));
  } else if (ctx.HasAttribute("value_int")) {
    ctx.Set(0, at::scalar_tensor(ctx.IntAttribute("value_int", 0),
                                 options.dtype(at::kLong)));
  } else if (ctx.HasAttribute("value_ints")) {
    ctx.Set(0, at::tensor(ctx.IntsAttribute("value_ints", {}),
                          options.dtype(at::kLong)));
  } else if (ctx.HasAttribute("value_float")) {
    ctx.Set(0, at::scalar_tensor(ctx.FloatAttribute("value_float", 0),
                                 options.dtype(ctx.TypeOf(kOnnxFloat))));
  } else if (ctx.HasAttribute("value_floats")) {
    ctx.Set(0, at::tensor(ctx.FloatsAttribute("value_floats", {}),
                          options.dtype(ctx.TypeOf(kOnnxFloat))));
  } else {
    for (const char* name : {"sparse_value", "value_string", "value_strings"}) {
      if (ctx.HasAttribute(name)) {
        ctx.Fail(ErrorCode::kUnsupported, "attribute '{}' is not supported",
                 name);
      }
    }
    ctx.Fail(ErrorCode::kCorrupt, "attribute 'value' is missing");
  }
}

void LowerConstantOfShape(NodeContext& ctx) {
  const Ints shape = ctx.Ints(0);
  const at::Device place = ctx.PlaceFor(CheckedCount(ctx, shape));
  at::Scalar fill = 0;
  at::ScalarType type = at::kFloat;
  if (ctx.HasAttribute("value")) {
    const Attribute& value =
        ctx.RequireAttribute("value", Attribute::Kind::kTensor);
    const at::Tensor one = ctx.Literal(value.tensors.front());
    ctx.Check(one.numel() == 1 && !one.is_meta(), "value has {}, expected 1",
              Counted(one.numel(), "element"));
    type = one.scalar_type();
    fill = Computable(one).item();
  }
  ctx.Set(0, at::full(shape, fill, OptionsAt(ctx, type, place)));
}

void LowerRange(NodeContext& ctx) {
  const at::ScalarType type = ctx.Host(0).scalar_type();
  const at::Scalar start = HostScalar(ctx, 0);
  const at::Scalar limit = HostScalar(ctx, 1);
  const at::Scalar delta = HostScalar(ctx, 2);
  ctx.Check(delta.toDouble() != 0, "delta is 0");
  const double count =
      std::ceil((limit.toDouble() - start.toDouble()) / delta.toDouble());
  if (!(count > 0)) {
    const auto empty = OptionsAt(ctx, type, ctx.device());
    ctx.Set(0, at::full({0}, 0, empty));
    return;
  }
  if (count > kMaxCreated) {
    ctx.Fail(ErrorCode::kUnsupported, "a range of {:f} elements", count);
  }
  const at::Device place = ctx.PlaceFor(static_cast<std::int64_t>(count));
  ctx.Set(0, at::arange(start, limit, delta, OptionsAt(ctx, type, place)));
}

/// Ones where column = row + k: a part of a larger identity matrix.
at::Tensor Diagonal(std::int64_t rows, std::int64_t columns, std::int64_t k,
                    const at::TensorOptions& options) {
  if (k == 0) return at::eye(rows, columns, options);
  if (k > 0) return at::eye(rows + k, columns, options).slice(0, k, rows + k);
  return at::eye(rows, columns - k, options).slice(1, -k, columns - k);
}

void LowerEyeLike(NodeContext& ctx) {
  const at::Tensor like = ctx.Tensor(0);
  ctx.Check(like.dim() == 2, "input has rank {}, expected 2", like.dim());
  const std::int64_t k = ctx.IntAttribute("k", 0);
  const std::int64_t farthest = std::max(like.size(0), like.size(1));
  ctx.Check(-farthest <= k && k <= farthest, "k is {}", k);
  const at::ScalarType type = ctx.HasAttribute("dtype")
                                  ? ctx.TypeOf(ctx.IntAttribute("dtype", 1))
                                  : like.scalar_type();
  ctx.Set(0, CastTo(Diagonal(like.size(0), like.size(1), k,
                             like.options().dtype(at::kFloat)),
                    type));
}

// ---- Random numbers --------------------------------------------------------

/// Shape, type and place of the random tensor that a node makes.
struct RandomTensor {
  Ints shape;
  at::TensorOptions options;
};

/// For the operators that read them from attributes. Random numbers belong on
/// the device of the run, however few they are.
RandomTensor FromAttributes(const NodeContext& ctx) {
  RandomTensor r{.shape = ctx.IntsAttribute("shape", {})};
  CheckedCount(ctx, r.shape);
  const at::Device place = ctx.PlaceFor(kMaxHostElements + 1);
  r.options =
      at::TensorOptions()
          .dtype(ctx.TypeOf(ctx.IntAttribute("dtype", kOnnxFloat), place))
          .device(place);
  return r;
}

/// For the operators that take them from an input.
RandomTensor FromInput(NodeContext& ctx) {
  const at::Tensor like = ctx.Tensor(0);
  RandomTensor r{.shape = like.sizes().vec(), .options = like.options()};
  if (ctx.HasAttribute("dtype")) {
    r.options =
        r.options.dtype(ctx.TypeOf(ctx.IntAttribute("dtype", kOnnxFloat)));
  }
  return r;
}

at::Tensor ScaledAndShifted(const at::Tensor& x, double scale, double shift) {
  const at::Tensor scaled = scale == 1 ? x : x.mul(scale);
  return shift == 0 ? scaled : scaled.add(shift);
}

void SetNormal(NodeContext& ctx, const RandomTensor& r) {
  ctx.Set(0, ScaledAndShifted(at::randn(r.shape, r.options),
                              ctx.FloatAttribute("scale", 1),
                              ctx.FloatAttribute("mean", 0)));
}

void SetUniform(NodeContext& ctx, const RandomTensor& r) {
  const double low = ctx.FloatAttribute("low", 0);
  const double high = ctx.FloatAttribute("high", 1);
  ctx.Set(0, ScaledAndShifted(at::rand(r.shape, r.options), high - low, low));
}

void LowerRandomNormal(NodeContext& ctx) {
  SetNormal(ctx, FromAttributes(ctx));
}

void LowerRandomNormalLike(NodeContext& ctx) { SetNormal(ctx, FromInput(ctx)); }

void LowerRandomUniform(NodeContext& ctx) {
  SetUniform(ctx, FromAttributes(ctx));
}

void LowerRandomUniformLike(NodeContext& ctx) {
  SetUniform(ctx, FromInput(ctx));
}

void LowerBernoulli(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::ScalarType type = ctx.HasAttribute("dtype")
                                  ? ctx.TypeOf(ctx.IntAttribute("dtype", 1))
                                  : x.scalar_type();
  ctx.Set(0, CastTo(at::bernoulli(x), type));
}

void LowerMultinomial(NodeContext& ctx) {
  const at::ScalarType type = ctx.TypeOf(ctx.IntAttribute("dtype", kOnnxInt32));
  const at::Tensor probabilities = at::softmax(ctx.Tensor(0), -1);
  ctx.Set(0, CastTo(at::multinomial(probabilities,
                                    ctx.IntAttribute("sample_size", 1),
                                    /*replacement=*/true),
                    type));
}

constexpr OnnxOperator kCreationOperators[] = {
    {"Bernoulli", {15, kAny}, &LowerBernoulli},
    {"Constant", {1, kAny}, &LowerConstant},
    {"ConstantOfShape", {9, kAny}, &LowerConstantOfShape},
    {"EyeLike", {9, kAny}, &LowerEyeLike},
    {"Multinomial", {7, kAny}, &LowerMultinomial},
    {"RandomNormal", {1, kAny}, &LowerRandomNormal},
    {"RandomNormalLike", {1, kAny}, &LowerRandomNormalLike},
    {"RandomUniform", {1, kAny}, &LowerRandomUniform},
    {"RandomUniformLike", {1, kAny}, &LowerRandomUniformLike},
    {"Range", {11, kAny}, &LowerRange},
};

}  // namespace

std::span<const OnnxOperator> CreationOperators() { return kCreationOperators; }

}  // namespace foretell::onnx
