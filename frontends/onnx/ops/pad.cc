// Padding with a constant, by reflection, by repeating the edge or by wrapping.
//
// at::pad does all four, but all except the constant only for floating-point
// tensors of 2 to 5 axes, over the last one to three of them, and reflection
// only by less than the axis holds. Everything else gathers, axis by axis, from
// the source positions of the padded axis.

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/lowerings.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

/// Elements to add before and after every axis; negative ones remove.
struct Pads {
  Ints begin;
  Ints end;
};

Pads ReadPads(NodeContext& ctx, std::int64_t rank) {
  Ints given;
  if (ctx.opset() < 11) {
    given = ctx.IntsAttribute(ctx.opset() < 2 ? "paddings" : "pads", {});
  } else {
    given = ctx.Ints(1);
  }
  const Ints axes = ctx.opset() >= 18 && ctx.Has(3)
                        ? NormalizeAxes(ctx, ctx.Ints(3), rank)
                        : Iota(rank);
  if (given.size() != 2 * axes.size()) {
    ctx.Fail(ErrorCode::kCorrupt, "pads has {}, expected {}",
             Counted(given.size(), "element"), 2 * axes.size());
  }
  Pads pads{.begin = Ints(static_cast<size_t>(rank), 0),
            .end = Ints(static_cast<size_t>(rank), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    pads.begin[axis] = given[i];
    pads.end[axis] = given[axes.size() + i];
  }
  return pads;
}

/// The last `axes` axes in ATen's order: last axis first, begin and end.
Ints LastAxisFirst(const Pads& pads, size_t axes) {
  Ints flat;
  for (size_t k = 0; k < axes; ++k) {
    flat.push_back(pads.begin[pads.begin.size() - 1 - k]);
    flat.push_back(pads.end[pads.end.size() - 1 - k]);
  }
  return flat;
}

/// Number of last axes that must be named to cover every pad.
size_t AxesToCover(const Pads& pads) {
  for (size_t i = 0; i < pads.begin.size(); ++i) {
    if (pads.begin[i] != 0 || pads.end[i] != 0) return pads.begin.size() - i;
  }
  return 0;
}

at::Scalar ConstantOf(NodeContext& ctx) {
  if (ctx.opset() < 11) return ctx.FloatAttribute("value", 0);
  return ctx.Has(2) ? HostScalar(ctx, 2) : at::Scalar(0);
}

/// Removes what negative pads ask for and sets them to zero.
at::Tensor Cropped(const NodeContext& ctx, at::Tensor x, Pads& pads) {
  for (size_t i = 0; i < pads.begin.size(); ++i) {
    const std::int64_t first = std::max<std::int64_t>(-pads.begin[i], 0);
    const std::int64_t size = x.size(static_cast<std::int64_t>(i));
    const std::int64_t last = size - std::max<std::int64_t>(-pads.end[i], 0);
    ctx.Check(first <= last, "pads remove more than axis {} has", i);
    pads.begin[i] = std::max<std::int64_t>(pads.begin[i], 0);
    pads.end[i] = std::max<std::int64_t>(pads.end[i], 0);
    if (first == 0 && last == size) continue;
    x = x.slice(static_cast<std::int64_t>(i), first, last);
  }
  return x;
}

/// Source of position `p`, counted from the first element of an axis of `size`
/// elements, outside which `p` may lie.
std::int64_t SourceOf(std::int64_t p, std::int64_t size,
                      const std::string& mode) {
  if (mode == "edge") return std::clamp<std::int64_t>(p, 0, size - 1);
  const bool reflect = mode == "reflect";
  const std::int64_t period =
      reflect ? std::max<std::int64_t>(2 * (size - 1), 1) : size;
  const std::int64_t within = ((p % period) + period) % period;
  return reflect && within >= size ? period - within : within;
}

at::Tensor PadByGathering(const NodeContext& ctx, at::Tensor x,
                          const Pads& pads, const std::string& mode) {
  for (size_t i = 0; i < pads.begin.size(); ++i) {
    if (pads.begin[i] == 0 && pads.end[i] == 0) continue;
    const auto axis = static_cast<std::int64_t>(i);
    const std::int64_t size = x.size(axis);
    ctx.Check(size > 0, "axis {} is empty and cannot be padded by {}", i, mode);
    Ints sources;
    for (std::int64_t p = -pads.begin[i]; p < size + pads.end[i]; ++p) {
      sources.push_back(SourceOf(p, size, mode));
    }
    x = at::index_select(x, axis, MovedTo(at::tensor(sources), x.device()));
  }
  return x;
}

/// How many axes to give to at::pad, or nothing if it cannot be used.
std::optional<size_t> AxesForAten(const at::Tensor& x, const Pads& pads,
                                  const std::string& mode) {
  if (x.dim() < 2 || x.dim() > 5 || !at::isFloatingType(x.scalar_type())) {
    return std::nullopt;
  }
  const auto rank = static_cast<size_t>(x.dim());
  const size_t axes =
      std::max<size_t>({AxesToCover(pads), rank > 2 ? rank - 2 : 1, 1});
  if (axes >= rank) return std::nullopt;
  for (size_t i = 0; i < rank; ++i) {
    const std::int64_t size = x.size(static_cast<std::int64_t>(i));
    const std::int64_t most = std::max(pads.begin[i], pads.end[i]);
    if (mode == "reflect" && most >= size && most > 0) return std::nullopt;
    if (mode == "wrap" && most > size) return std::nullopt;
  }
  return axes;
}

std::string AtenMode(const std::string& mode) {
  if (mode == "edge") return "replicate";
  return mode == "wrap" ? "circular" : mode;
}

}  // namespace

void LowerPad(NodeContext& ctx) {
  at::Tensor x = ctx.Tensor(0);
  Pads pads = ReadPads(ctx, x.dim());
  const std::string mode = ctx.StringAttribute("mode", "constant");
  const size_t axes = AxesToCover(pads);
  if (axes == 0) {
    ctx.Set(0, x);
    return;
  }
  if (mode == "constant") {
    ctx.Set(0,
            at::constant_pad_nd(x, LastAxisFirst(pads, axes), ConstantOf(ctx)));
    return;
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap") {
    FailAttribute(ctx, "mode", mode);
  }
  x = Cropped(ctx, x, pads);
  const auto for_aten = AxesForAten(x, pads, mode);
  ctx.Set(0, for_aten ? at::pad(x, LastAxisFirst(pads, *for_aten),
                                AtenMode(mode), std::nullopt)
                      : PadByGathering(ctx, x, pads, mode));
}

}  // namespace foretell::onnx
