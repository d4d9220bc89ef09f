#include "frontends/onnx/ops/lowerings.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/helpers.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

/// What a Slice node asks of each of its axes, as written in the file.
struct Slices {
  Ints starts, ends, axes, steps;
};

Slices ReadSlices(NodeContext& ctx, std::int64_t rank) {
  Slices s;
  if (ctx.opset() < 10) {
    s.starts = ctx.IntsAttribute("starts", {});
    s.ends = ctx.IntsAttribute("ends", {});
    s.axes = ctx.IntsAttribute(
        "axes", Iota(static_cast<std::int64_t>(s.starts.size())));
    s.steps.assign(s.starts.size(), 1);
  } else {
    s.starts = ctx.Ints(1);
    s.ends = ctx.Ints(2);
    s.axes = ctx.Has(3) ? ctx.Ints(3)
                        : Iota(static_cast<std::int64_t>(s.starts.size()));
    s.steps = ctx.Has(4) ? ctx.Ints(4) : Ints(s.starts.size(), 1);
  }
  if (s.ends.size() != s.starts.size() || s.axes.size() != s.starts.size() ||
      s.steps.size() != s.starts.size()) {
    ctx.Fail(ErrorCode::kCorrupt,
             "starts, ends, axes and steps have {}, {}, {} and {}",
             s.starts.size(), s.ends.size(), s.axes.size(),
             Counted(s.steps.size(), "element"));
  }
  s.axes = NormalizeAxes(ctx, std::move(s.axes), rank);
  return s;
}

/// `position` counted from the front and clamped to [low, high]. Positions as
/// far out as the smallest int64 occur in real files.
std::int64_t Clamped(std::int64_t position, std::int64_t size, std::int64_t low,
                     std::int64_t high) {
  if (position < 0) position = std::max(position, -size - 1) + size;
  return std::clamp(position, low, high);
}

at::Tensor SliceForward(const at::Tensor& x, std::int64_t axis,
                        std::int64_t start, std::int64_t end,
                        std::int64_t step) {
  const std::int64_t size = x.size(axis);
  const std::int64_t first = Clamped(start, size, 0, size);
  const std::int64_t last = std::max(Clamped(end, size, 0, size), first);
  if (first == 0 && last == size && step == 1) return x;
  return x.slice(axis, first, last, step);
}

/// ATen slices forwards only: the same elements are taken in ascending order
/// and then flipped.
at::Tensor SliceBackward(const at::Tensor& x, std::int64_t axis,
                         std::int64_t start, std::int64_t end,
                         std::int64_t stride) {
  const std::int64_t size = x.size(axis);
  if (size == 0) return x;
  const std::int64_t first = Clamped(start, size, 0, size - 1);
  const std::int64_t stop = Clamped(end, size, -1, size - 1);
  if (first <= stop) return x.slice(axis, 0, 0);
  const std::int64_t count = (first - stop - 1) / stride + 1;
  return x.slice(axis, first - (count - 1) * stride, first + 1, stride)
      .flip({axis});
}

Ints SplitSizes(NodeContext& ctx, std::int64_t length) {
  if (const auto given = IntsInputOrAttribute(ctx, 1, "split")) return *given;
  const auto outputs = static_cast<std::int64_t>(ctx.num_outputs());
  const std::int64_t parts = ctx.IntAttribute("num_outputs", outputs);
  ctx.Check(parts > 0 && parts == outputs,
            "num_outputs is {}, expected {}, the node's number of outputs",
            parts, outputs);
  if (ctx.opset() < 18 && length % parts != 0) {
    ctx.Fail(ErrorCode::kInvalidArgument,
             "an axis of {} does not split into {} equal parts",
             Counted(length, "element"), parts);
  }
  const std::int64_t chunk = (length + parts - 1) / parts;
  Ints sizes;
  for (std::int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::clamp<std::int64_t>(length - i * chunk, 0, chunk));
  }
  return sizes;
}

}  // namespace

void LowerSlice(NodeContext& ctx) {
  at::Tensor x = ctx.Tensor(0);
  const Slices s = ReadSlices(ctx, x.dim());
  for (size_t i = 0; i < s.axes.size(); ++i) {
    const std::int64_t step = s.steps[i];
    ctx.Check(step != 0, "steps holds 0");
    // A stride beyond the axis selects one element, for any stride.
    const std::int64_t size = std::max<std::int64_t>(x.size(s.axes[i]), 1);
    x = step > 0 ? SliceForward(x, s.axes[i], s.starts[i], s.ends[i],
                                std::min(step, size))
                 : SliceBackward(x, s.axes[i], s.starts[i], s.ends[i],
                                 -std::max(step, -size));
  }
  ctx.Set(0, x);
}

void LowerSplit(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t axis = AxisAttribute(ctx, 0, x.dim());
  const Ints sizes = SplitSizes(ctx, x.size(axis));
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) total += size;
  if (total != x.size(axis) || sizes.size() != ctx.num_outputs()) {
    ctx.Fail(ErrorCode::kInvalidArgument,
             "split gives {} of {}, expected {} parts of {}",
             Counted(sizes.size(), "part"), Counted(total, "element"),
             ctx.num_outputs(), x.size(axis));
  }
  const std::vector<at::Tensor> parts = at::split_with_sizes(x, sizes, axis);
  for (size_t i = 0; i < parts.size(); ++i) ctx.Set(i, parts[i]);
}

}  // namespace foretell::onnx
