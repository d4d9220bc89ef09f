#include <ATen/ATen.h>

#include <tuple>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

// ---- TopK ------------------------------------------------------------------

struct TopKOptions {
  std::int64_t k = 0;
  std::int64_t axis = 0;
  bool largest = true;
  bool sorted = true;
};

TopKOptions OptionsOf(NodeContext& ctx, const at::Tensor& x) {
  TopKOptions options;
  options.axis = AxisAttribute(ctx, -1, x.dim());
  options.k = ctx.opset() < 10
                  ? ctx.RequireAttribute("k", Attribute::Kind::kInt).i
                  : ctx.Int(1);
  options.largest = ctx.IntAttribute("largest", 1) != 0;
  options.sorted = ctx.IntAttribute("sorted", 1) != 0;
  const std::int64_t size = x.dim() == 0 ? 1 : x.size(options.axis);
  ctx.Check(options.k >= 0 && options.k <= size, "k is {}, but axis {} has {}",
            options.k, options.axis, Counted(size, "element"));
  return options;
}

/// Among equal elements ONNX puts the one with the lower index first. at::topk
/// promises no order, but is what eager code calls; on the CPU, where results
/// matter, a stable sort ensures the order.
std::tuple<at::Tensor, at::Tensor> TopK(const at::Tensor& x,
                                        const TopKOptions& options) {
  if (!x.is_cpu()) {
    return at::topk(x, options.k, options.axis, options.largest,
                    options.sorted);
  }
  const auto [values, indices] =
      at::sort(x, /*stable=*/true, options.axis, options.largest);
  if (x.dim() == 0) return {values, indices};
  return {values.narrow(options.axis, 0, options.k).contiguous(),
          indices.narrow(options.axis, 0, options.k).contiguous()};
}

void LowerTopK(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::ScalarType type = x.scalar_type();
  const auto [values, indices] = TopK(Ordered(x), OptionsOf(ctx, x));
  ctx.Set(0, IsWideUnsigned(type) ? FromOrdered(values, type) : values);
  ctx.Set(1, indices);
}

// ---- Unique ----------------------------------------------------------------

struct UniqueResult {
  at::Tensor values;
  at::Tensor first;    ///< For each value: where it occurs first.
  at::Tensor inverse;  ///< For each element: the index of its value.
  at::Tensor counts;
};

/// Smallest position that maps to each of `count` values.
at::Tensor FirstOccurrences(const at::Tensor& inverse, std::int64_t count) {
  const at::Tensor positions = at::arange(inverse.numel(), inverse.options());
  return at::full({count}, inverse.numel(), inverse.options())
      .scatter_reduce(0, inverse, positions, "amin");
}

/// Values in the order of their first occurrence instead of ascending.
UniqueResult InOrderOfOccurrence(const UniqueResult& ascending,
                                 std::int64_t axis) {
  const at::Tensor order = at::argsort(ascending.first);
  const at::Tensor rank = at::argsort(order);
  return {at::index_select(ascending.values, axis, order),
          at::index_select(ascending.first, 0, order),
          at::index_select(rank, 0, ascending.inverse),
          at::index_select(ascending.counts, 0, order)};
}

UniqueResult Unique(const at::Tensor& x, std::int64_t axis) {
  UniqueResult result;
  std::tie(result.values, result.inverse, result.counts) =
      x.dim() == 1 ? at::_unique2(x, /*sorted=*/true, /*return_inverse=*/true,
                                  /*return_counts=*/true)
                   : at::unique_dim(x, axis, /*sorted=*/true,
                                    /*return_inverse=*/true,
                                    /*return_counts=*/true);
  result.first = FirstOccurrences(result.inverse, result.counts.numel());
  return result;
}

/// The number of results depends on values, so that a run without values stops
/// at Host.
void LowerUnique(NodeContext& ctx) {
  const at::Tensor x = ctx.device().is_meta() ? ctx.Host(0) : ctx.Tensor(0);
  const bool has_axis = ctx.HasAttribute("axis");
  const std::int64_t axis = has_axis ? AxisAttribute(ctx, 0, x.dim()) : 0;
  UniqueResult result =
      Unique(Ordered(has_axis ? x : x.reshape(-1)).contiguous(), axis);
  if (ctx.IntAttribute("sorted", 1) == 0) {
    result = InOrderOfOccurrence(result, axis);
  }
  ctx.Set(0, FromOrdered(result.values, x.scalar_type()));
  ctx.Set(1, result.first);
  ctx.Set(2, result.inverse);
  ctx.Set(3, result.counts);
}

constexpr OnnxOperator kSortingOperators[] = {
    {"TopK", {1, kAny}, &LowerTopK},  // 10: K is an input
    {"Unique", {11, kAny}, &LowerUnique, "", kDependsOnData},
};

}  // namespace

std::span<const OnnxOperator> SortingOperators() { return kSortingOperators; }

}  // namespace foretell::onnx
