#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;
using IndexList = c10::List<std::optional<at::Tensor>>;

/// Input `i` as positions on an axis of `size` elements, counted from the front
/// if values are known. Positions computed on a device are used unchecked:
/// eager code would not check them either.
at::Tensor Positions(NodeContext& ctx, size_t i, std::int64_t size) {
  const at::Tensor positions = ctx.Tensor(i);
  if (!ctx.IsHost(i)) return positions;
  Ints known = ctx.Ints(i);
  bool any_negative = false;
  for (std::int64_t& position : known) {
    if (position < -size || position >= size) {
      ctx.Fail(ErrorCode::kInvalidArgument,
               "index {} is out of range for an axis of {}", position,
               Counted(size, "element"));
    }
    if (position >= 0) continue;
    position += size;
    any_negative = true;
  }
  if (!any_negative) return positions;
  return MovedTo(at::tensor(known, at::kLong).reshape(positions.sizes()),
                 positions.device());
}

/// As Positions, in the only type that gather and scatter accept.
at::Tensor LongPositions(NodeContext& ctx, size_t i, std::int64_t size) {
  return CastTo(Positions(ctx, i, size), at::kLong);
}

// ---- Gathering -------------------------------------------------------------

/// `x` at positions of any shape along `axis`, as eager code writes it:
/// `x[:, positions]`, a row lookup as an embedding.
at::Tensor GatherAt(const at::Tensor& x, std::int64_t axis,
                    const at::Tensor& positions) {
  if (axis == 0 && x.dim() == 2 && at::isFloatingType(x.scalar_type()) &&
      !IsSmallFloat(x.scalar_type())) {
    return at::embedding(x, positions);
  }
  if (positions.dim() == 1) return at::index_select(x, axis, positions);
  IndexList indices;
  for (std::int64_t i = 0; i < axis; ++i) indices.push_back(std::nullopt);
  indices.push_back(positions);
  return at::index(x, indices);
}

void LowerGather(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  ctx.Check(x.dim() > 0, "data has no axis");
  const std::int64_t axis = AxisAttribute(ctx, 0, x.dim());
  const at::Tensor positions = Positions(ctx, 1, x.size(axis));
  if (positions.dim() == 0 && ctx.IsHost(1)) {
    const std::int64_t position = ctx.Int(1);
    ctx.Set(0, x.select(axis, position));
    return;
  }
  ctx.Set(0, GatherAt(x, axis, positions));
}

void LowerGatherElements(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t axis = AxisAttribute(ctx, 0, x.dim());
  ctx.Set(0, at::gather(x, axis, LongPositions(ctx, 1, x.size(axis))));
}

/// Index tuples along the last axis of `tuples` as one index tensor for each of
/// the axes starting at `first`; ATen accepts negative ones.
IndexList TupleIndices(const NodeContext& ctx, const at::Tensor& x,
                       const at::Tensor& tuples, std::int64_t first) {
  ctx.Check(tuples.dim() > 0, "indices has no axis");
  const std::int64_t length = tuples.size(-1);
  if (length < 1 || first + length > x.dim()) {
    ctx.Fail(ErrorCode::kCorrupt,
             "indices are tuples of {} for a tensor of rank {}", length,
             x.dim());
  }
  IndexList indices;
  for (std::int64_t axis = 0; axis < first; ++axis) {
    Ints shape(static_cast<size_t>(tuples.dim()) - 1, 1);
    shape[static_cast<size_t>(axis)] = x.size(axis);
    indices.push_back(
        at::arange(x.size(axis), tuples.options()).reshape(shape));
  }
  for (std::int64_t k = 0; k < length; ++k) {
    indices.push_back(tuples.select(-1, k));
  }
  return indices;
}

void LowerGatherND(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor tuples = CastTo(ctx.Tensor(1), at::kLong);
  const std::int64_t batch = ctx.IntAttribute("batch_dims", 0);
  ctx.Check(batch >= 0 && batch < x.dim() && batch < tuples.dim(),
            "batch_dims is {} for tensors of ranks {} and {}", batch, x.dim(),
            tuples.dim());
  ctx.Set(0, at::index(x, TupleIndices(ctx, x, tuples, batch)));
}

void LowerCompress(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor condition = ctx.IsHost(1) ? ctx.Host(1) : ctx.Tensor(1);
  RequireData(ctx, condition);
  const at::Tensor kept =
      MovedTo(at::nonzero(condition.reshape({-1})).reshape({-1}), x.device());
  if (!ctx.HasAttribute("axis")) {
    ctx.Set(0, at::index_select(x.reshape({-1}), 0, kept));
    return;
  }
  const std::int64_t axis = AxisAttribute(ctx, 0, x.dim());
  ctx.Set(0, at::index_select(x, axis, kept));
}

void LowerNonZero(NodeContext& ctx) {
  const at::Tensor x = ctx.IsHost(0) ? ctx.Host(0) : ctx.Tensor(0);
  RequireData(ctx, x);
  // A scalar counts as a tensor of one element here.
  const at::Tensor found =
      at::nonzero(Computable(x.dim() == 0 ? x.reshape({1}) : x));
  ctx.Set(0, found.t());
}

// ---- Scattering ------------------------------------------------------------

/// ATen's name in scatter_reduce for a node's reduction; empty for
/// "none".
std::string_view ScatterReduction(const NodeContext& ctx) {
  const std::string name = ctx.StringAttribute("reduction", "none");
  if (name == "none") return "";
  if (name == "add") return "sum";
  if (name == "mul") return "prod";
  if (name == "max") return "amax";
  if (name == "min") return "amin";
  FailAttribute(ctx, "reduction", name);
}

void LowerScatterElements(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor updates = ctx.Tensor(2);
  const std::int64_t axis = AxisAttribute(ctx, 0, x.dim());
  const at::Tensor positions = LongPositions(ctx, 1, x.size(axis));
  const std::string_view reduction = ScatterReduction(ctx);
  if (reduction.empty()) {
    ctx.Set(0, at::scatter(x, axis, positions, updates));
  } else if (reduction == "sum") {
    ctx.Set(0, at::scatter_add(x, axis, positions, updates));
  } else {
    ctx.Set(0, at::scatter_reduce(x, axis, positions, updates, reduction,
                                  /*include_self=*/true));
  }
}

/// scatter_reduce along one axis that stands for the `length` leading ones.
at::Tensor ReduceAtTuples(const at::Tensor& x, const at::Tensor& tuples,
                          const at::Tensor& updates,
                          std::string_view reduction) {
  const std::int64_t length = tuples.size(-1);
  const auto lead = static_cast<size_t>(length);
  const std::int64_t rest = Product(x.sizes().slice(lead));
  at::Tensor rows;
  for (std::int64_t k = 0; k < length; ++k) {
    const at::Tensor positions = tuples.select(-1, k).remainder(x.size(k));
    rows = k == 0 ? positions : rows.mul(x.size(k)).add(positions);
  }
  const std::int64_t count = rows.numel();
  return at::scatter_reduce(
             x.reshape({Product(x.sizes().slice(0, lead)), rest}), 0,
             rows.reshape({count, 1}).expand({count, rest}),
             updates.reshape({count, rest}), reduction,
             /*include_self=*/true)
      .reshape(x.sizes());
}

void LowerScatterND(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor tuples = CastTo(ctx.Tensor(1), at::kLong);
  const at::Tensor updates = ctx.Tensor(2);
  const std::string_view reduction = ScatterReduction(ctx);
  const IndexList indices = TupleIndices(ctx, x, tuples, 0);
  if (reduction.empty() || reduction == "sum") {
    ctx.Set(0, at::index_put(x, indices, updates,
                             /*accumulate=*/reduction == "sum"));
  } else {
    ctx.Set(0, ReduceAtTuples(x, tuples, updates, reduction));
  }
}

void LowerTensorScatter(NodeContext& ctx) {
  const at::Tensor cache = ctx.Tensor(0);
  const at::Tensor update = ctx.Tensor(1);
  const std::int64_t axis = AxisAttribute(ctx, -2, cache.dim());
  const std::string mode = ctx.StringAttribute("mode", "linear");
  if (mode != "linear" && mode != "circular") FailAttribute(ctx, "mode", mode);
  ctx.Check(axis != 0, "axis is 0, the batch");
  if (!ctx.Has(2)) {
    ctx.Set(0, at::slice_scatter(cache, update, axis, 0, update.size(axis)));
    return;
  }
  const at::Tensor first = CastTo(ctx.Tensor(2), at::kLong);
  at::Tensor positions =
      first.unsqueeze(1).add(at::arange(update.size(axis), first.options()));
  if (mode == "circular") positions = positions.remainder(cache.size(axis));
  Ints shape(static_cast<size_t>(cache.dim()), 1);
  shape[0] = positions.size(0);
  shape[static_cast<size_t>(axis)] = positions.size(1);
  ctx.Set(0,
          at::scatter(cache, axis,
                      positions.reshape(shape).expand(update.sizes()), update));
}

// ---- One-hot, sequences and triangles --------------------------------------

void LowerOneHot(NodeContext& ctx) {
  const at::Tensor given = CastTo(ctx.Tensor(0), at::kLong);
  const auto depth = static_cast<std::int64_t>(ctx.Double(1));
  const at::Tensor values = ctx.Tensor(2);
  ctx.Check(values.numel() == 2, "values has {}, expected 2",
            Counted(values.numel(), "element"));
  const std::int64_t axis = AxisAttribute(ctx, -1, given.dim() + 1);
  const at::Tensor from_front =
      at::where(given.lt(0), given.add(depth), given).unsqueeze(axis);
  Ints shape(static_cast<size_t>(given.dim()) + 1, 1);
  shape[static_cast<size_t>(axis)] = depth;
  const at::Tensor classes =
      at::arange(depth, from_front.options()).reshape(shape);
  const at::Tensor pair = values.reshape({2});
  ctx.Set(0, at::where(from_front.eq(classes), pair.select(0, 1),
                       pair.select(0, 0)));
}

void LowerReverseSequence(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor lengths = CastTo(ctx.Tensor(1), at::kLong);
  const std::int64_t batch_axis = ctx.IntAttribute("batch_axis", 1);
  const std::int64_t time_axis = ctx.IntAttribute("time_axis", 0);
  ctx.Check(x.dim() >= 2 && batch_axis + time_axis == 1 &&
                batch_axis * time_axis == 0,
            "batch_axis {} and time_axis {}, expected 0 and 1", batch_axis,
            time_axis);
  Ints over_time(static_cast<size_t>(x.dim()), 1);
  Ints over_batch = over_time;
  over_time[static_cast<size_t>(time_axis)] = x.size(time_axis);
  over_batch[static_cast<size_t>(batch_axis)] = x.size(batch_axis);
  const at::Tensor times =
      at::arange(x.size(time_axis), lengths.options()).reshape(over_time);
  const at::Tensor ends = lengths.reshape(over_batch);
  const at::Tensor sources =
      at::where(times.lt(ends), ends.sub(1).sub(times), times);
  ctx.Set(0, at::gather(x, time_axis, sources.expand(x.sizes())));
}

void LowerTrilu(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  ctx.Check(x.dim() >= 2, "input has rank {}, expected at least 2", x.dim());
  const std::int64_t diagonal = ctx.Has(1) ? ctx.Int(1) : 0;
  const at::Tensor computable = Computable(x);
  ctx.Set(0, CastTo(ctx.IntAttribute("upper", 1) != 0
                        ? at::triu(computable, diagonal)
                        : at::tril(computable, diagonal),
                    x.scalar_type()));
}

constexpr OnnxOperator kIndexingOperators[] = {
    {"Compress", {9, kAny}, &LowerCompress, "", kDependsOnData},
    {"Gather", {1, kAny}, &LowerGather},
    {"GatherElements", {11, kAny}, &LowerGatherElements},
    {"GatherND", {11, kAny}, &LowerGatherND},
    {"NonZero", {9, kAny}, &LowerNonZero, "", kDependsOnData},
    {"OneHot", {9, kAny}, &LowerOneHot},
    {"ReverseSequence", {10, kAny}, &LowerReverseSequence},
    {"Scatter", {9, 10}, &LowerScatterElements},
    {"ScatterElements", {11, kAny}, &LowerScatterElements},
    {"ScatterND", {11, kAny}, &LowerScatterND},
    {"TensorScatter", {24, kAny}, &LowerTensorScatter},
    {"Trilu", {14, kAny}, &LowerTrilu},
};

}  // namespace

std::span<const OnnxOperator> IndexingOperators() { return kIndexingOperators; }

}  // namespace foretell::onnx
