#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

/// What a reduction needs in addition to its input.
struct Reduction {
  std::vector<std::int64_t> axes;  ///< Not negative; all of them listed.
  bool keepdims = true;
};

// ---- The functions: input and result have one type that ATen computes ------

/// Type of sums and products of `x`: its own. ATen would widen integers; that
/// of floating-point numbers is left to it, since autocast widens them.
std::optional<at::ScalarType> SumType(const at::Tensor& x) {
  if (x.is_floating_point()) return std::nullopt;
  return x.scalar_type();
}

at::Tensor Sum(const at::Tensor& x, const Reduction& r) {
  return at::sum(x, r.axes, r.keepdims, SumType(x));
}

at::Tensor Mean(const at::Tensor& x, const Reduction& r) {
  if (x.is_floating_point()) return at::mean(x, r.axes, r.keepdims);
  std::int64_t count = 1;
  for (const std::int64_t axis : r.axes) count *= x.size(axis);
  return Quotient(Sum(x, r), at::full({}, count, x.options()));
}

/// One axis at a time, as at::prod works.
at::Tensor Prod(const at::Tensor& x, const Reduction& r) {
  std::vector<std::int64_t> axes = r.axes;
  std::sort(axes.begin(), axes.end(), std::greater<>());
  at::Tensor y = x;
  for (const std::int64_t axis : axes) {
    y = at::prod(y, axis, r.keepdims, SumType(x));
  }
  return y;
}

/// Norms of integers are rounded toward zero.
at::Tensor Norm(const at::Tensor& x, const Reduction& r, int order) {
  if (x.is_floating_point()) {
    return at::linalg_vector_norm(x, order, r.axes, r.keepdims);
  }
  return CastTo(
      at::linalg_vector_norm(x.to(at::kDouble), order, r.axes, r.keepdims),
      x.scalar_type());
}

at::Tensor L1(const at::Tensor& x, const Reduction& r) { return Norm(x, r, 1); }

at::Tensor L2(const at::Tensor& x, const Reduction& r) { return Norm(x, r, 2); }

at::Tensor LogSum(const at::Tensor& x, const Reduction& r) {
  return CastTo(at::log(Sum(x, r)), x.scalar_type());
}

at::Tensor LogSumExp(const at::Tensor& x, const Reduction& r) {
  const bool is_float = x.is_floating_point();
  const at::Tensor number = is_float ? x : x.to(at::kDouble);
  return CastTo(at::logsumexp(number, r.axes, r.keepdims), x.scalar_type());
}

at::Tensor SumSquare(const at::Tensor& x, const Reduction& r) {
  return Sum(x * x, r);
}

// ---- Around them -----------------------------------------------------------

Reduction ReductionOf(NodeContext& ctx, std::int64_t rank) {
  Reduction reduction;
  reduction.keepdims = ctx.IntAttribute("keepdims", 1) != 0;
  const auto axes = IntsInputOrAttribute(ctx, 1, "axes");
  if (axes && !axes->empty()) {
    reduction.axes = NormalizeAxes(ctx, *axes, rank);
  } else {
    reduction.axes = Iota(rank);
  }
  return reduction;
}

/// True when no axis is given and that means none, not all.
bool ReducesNothing(NodeContext& ctx) {
  if (ctx.IntAttribute("noop_with_empty_axes", 0) == 0) return false;
  const auto axes = IntsInputOrAttribute(ctx, 1, "axes");
  return !axes || axes->empty();
}

using ReduceFunction = at::Tensor (*)(const at::Tensor&, const Reduction&);

/// ATen interprets an empty list of axes as all axes: if none is meant, a new
/// axis of length one is reduced.
template <ReduceFunction function>
void LowerReduce(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor number = Computable(x);
  const at::Tensor y =
      ReducesNothing(ctx)
          ? function(number.unsqueeze(0), {.axes = {0}, .keepdims = false})
          : function(number, ReductionOf(ctx, x.dim()));
  ctx.Set(0, CastTo(y, x.scalar_type()));
}

/// The identity of max (`sign` -1) or min (+1): what reducing nothing gives.
at::Scalar Extreme(at::ScalarType type, int sign) {
  if (at::isFloatingType(type)) {
    return sign * std::numeric_limits<double>::infinity();
  }
  switch (type) {
    case at::kBool:
      return sign > 0;
    case at::kByte:
      return sign > 0 ? 255 : 0;
    case at::kChar:
      return sign > 0 ? 127 : -128;
    case at::kShort:
      return sign > 0 ? 32767 : -32768;
    case at::kInt:
      return sign > 0 ? std::numeric_limits<std::int32_t>::max()
                      : std::numeric_limits<std::int32_t>::min();
    default:
      return sign > 0 ? std::numeric_limits<std::int64_t>::max()
                      : std::numeric_limits<std::int64_t>::min();
  }
}

at::Tensor EmptyExtreme(const at::Tensor& x, const Reduction& r, int sign) {
  std::vector<std::int64_t> shape;
  for (std::int64_t axis = 0; axis < x.dim(); ++axis) {
    const bool is_reduced =
        std::find(r.axes.begin(), r.axes.end(), axis) != r.axes.end();
    if (!is_reduced) shape.push_back(x.size(axis));
    if (is_reduced && r.keepdims) shape.push_back(1);
  }
  return at::full(shape, Extreme(x.scalar_type(), sign), x.options());
}

template <int sign>
void LowerReduceExtreme(NodeContext& ctx) {
  const at::Tensor input = ctx.Tensor(0);
  const at::Tensor x = Ordered(input);
  const Reduction r = ReductionOf(ctx, x.dim());
  const bool reduces_empty = std::any_of(
      r.axes.begin(), r.axes.end(),
      [&](std::int64_t axis) { return x.dim() > 0 && x.size(axis) == 0; });
  at::Tensor y;
  if (ReducesNothing(ctx)) {
    y = x;
  } else if (reduces_empty) {
    y = EmptyExtreme(x, r, sign);
  } else {
    y = sign < 0 ? at::amax(x, r.axes, r.keepdims)
                 : at::amin(x, r.axes, r.keepdims);
  }
  const at::ScalarType type = input.scalar_type();
  ctx.Set(0, IsWideUnsigned(type) ? FromOrdered(y, type) : y);
}

// ---- ArgMax, ArgMin --------------------------------------------------------

at::Tensor ArgMax(const at::Tensor& x, std::int64_t axis, bool keepdims) {
  return at::argmax(x, axis, keepdims);
}

at::Tensor ArgMin(const at::Tensor& x, std::int64_t axis, bool keepdims) {
  return at::argmin(x, axis, keepdims);
}

/// ATen takes the first of equal elements; the last is the first in reverse.
template <at::Tensor (*function)(const at::Tensor&, std::int64_t, bool)>
void LowerArgument(NodeContext& ctx) {
  const at::Tensor x = Ordered(ctx.Tensor(0));
  const std::int64_t axis = AxisAttribute(ctx, 0, x.dim());
  const bool keepdims = ctx.IntAttribute("keepdims", 1) != 0;
  if (ctx.IntAttribute("select_last_index", 0) == 0 || x.dim() == 0) {
    ctx.Set(0, function(x, axis, keepdims));
    return;
  }
  const at::Tensor from_behind = function(at::flip(x, axis), axis, keepdims);
  ctx.Set(0, -from_behind + (x.size(axis) - 1));
}

// ---- CumSum, CumProd -------------------------------------------------------

at::Tensor CumSum(const at::Tensor& x, std::int64_t axis) {
  return at::cumsum(x, axis, SumType(x));
}

at::Tensor CumProd(const at::Tensor& x, std::int64_t axis) {
  return at::cumprod(x, axis, SumType(x));
}

/// `identity` in front, the last element dropped.
at::Tensor ShiftedByOne(const at::Tensor& x, std::int64_t axis, int identity) {
  const std::int64_t size = x.size(axis);
  if (size == 0) return x;
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape[static_cast<size_t>(axis)] = 1;
  const at::Tensor first = at::full(shape, identity, x.options());
  return at::cat({first, at::slice(x, axis, 0, size - 1)}, axis);
}

template <at::Tensor (*function)(const at::Tensor&, std::int64_t), int identity>
void LowerCumulative(NodeContext& ctx) {
  const at::Tensor input = ctx.Tensor(0);
  const std::int64_t axis = NormalizeAxis(ctx, ctx.Int(1), input.dim());
  const bool reverses = ctx.IntAttribute("reverse", 0) != 0;
  at::Tensor y = Computable(input);
  if (reverses) y = at::flip(y, axis);
  y = function(y, axis);
  if (ctx.IntAttribute("exclusive", 0) != 0) {
    y = ShiftedByOne(y, axis, identity);
  }
  if (reverses) y = at::flip(y, axis);
  ctx.Set(0, CastTo(y, input.scalar_type()));
}

constexpr OnnxOperator kReductionOperators[] = {
    // Axes are an attribute before 18 (ReduceSum: 13), then an input.
    {"ArgMax", {1, kAny}, &LowerArgument<&ArgMax>},
    {"ArgMin", {1, kAny}, &LowerArgument<&ArgMin>},
    {"CumProd", {26, kAny}, &LowerCumulative<&CumProd, 1>},
    {"CumSum", {11, kAny}, &LowerCumulative<&CumSum, 0>},
    {"ReduceL1", {1, kAny}, &LowerReduce<&L1>},
    {"ReduceL2", {1, kAny}, &LowerReduce<&L2>},
    {"ReduceLogSum", {1, kAny}, &LowerReduce<&LogSum>},
    {"ReduceLogSumExp", {1, kAny}, &LowerReduce<&LogSumExp>},
    {"ReduceMax", {1, kAny}, &LowerReduceExtreme<-1>},
    {"ReduceMean", {1, kAny}, &LowerReduce<&Mean>},
    {"ReduceMin", {1, kAny}, &LowerReduceExtreme<+1>},
    {"ReduceProd", {1, kAny}, &LowerReduce<&Prod>},
    {"ReduceSum", {1, kAny}, &LowerReduce<&Sum>},
    {"ReduceSumSquare", {1, kAny}, &LowerReduce<&SumSquare>},
};

}  // namespace

std::span<const OnnxOperator> ReductionOperators() {
  return kReductionOperators;
}

}  // namespace foretell::onnx
