// Maximum over windows, with the places of the maxima, and its inverse.
#include <ATen/ATen.h>

#include <limits>
#include <tuple>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/pooling.h"
#include "frontends/onnx/ops/type_support.h"
#include "frontends/onnx/ops/window.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

/// ATen's maximum pooling lacks kernels for 8-bit integers; every one of their
/// values is exact in float.
bool NeedsFloat(const at::Tensor& x) {
  return !at::isFloatingType(x.scalar_type());
}

at::Tensor MaxPoolOf(const NodeContext& ctx, const at::Tensor& x,
                     const Window& w, bool ceil_mode) {
  switch (w.rank()) {
    case 1:
      return at::max_pool1d(x, w.kernel, w.strides, w.pads_begin, w.dilations,
                            ceil_mode);
    case 2:
      return at::max_pool2d(x, w.kernel, w.strides, w.pads_begin, w.dilations,
                            ceil_mode);
    case 3:
      return at::max_pool3d(x, w.kernel, w.strides, w.pads_begin, w.dilations,
                            ceil_mode);
    default:
      FailPoolingRank(ctx, w.rank());
  }
}

std::tuple<at::Tensor, at::Tensor> MaxPoolWithIndicesOf(const NodeContext& ctx,
                                                        const at::Tensor& x,
                                                        const Window& w,
                                                        bool ceil_mode) {
  switch (w.rank()) {
    case 1:
      return at::max_pool1d_with_indices(x, w.kernel, w.strides, w.pads_begin,
                                         w.dilations, ceil_mode);
    case 2:
      return at::max_pool2d_with_indices(x, w.kernel, w.strides, w.pads_begin,
                                         w.dilations, ceil_mode);
    case 3:
      return at::max_pool3d_with_indices(x, w.kernel, w.strides, w.pads_begin,
                                         w.dilations, ceil_mode);
    default:
      FailPoolingRank(ctx, w.rank());
  }
}

/// Distance in memory between neighbours along each of the axes `sizes`.
Ints StridesOf(const Ints& sizes, bool column_major) {
  Ints strides(sizes.size());
  std::int64_t step = 1;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const size_t i = column_major ? k : sizes.size() - 1 - k;
    strides[i] = step;
    step *= sizes[i];
  }
  return strides;
}

/// ATen numbers elements within one padded plane, ONNX within the whole tensor
/// without pads and in the wanted order of the spatial axes.
at::Tensor OnnxIndices(const at::Tensor& indices, const Pooling& p,
                       const Window& padded_by, bool column_major) {
  Ints padded = p.spatial;
  for (size_t i = 0; i < padded.size(); ++i) {
    padded[i] += padded_by.pads_begin[i] + padded_by.pads_end[i];
  }
  at::Tensor result = indices;
  if (padded != p.spatial || column_major) {
    const Ints from = StridesOf(padded, false);
    const Ints to = StridesOf(p.spatial, column_major);
    result = at::zeros({1}, indices.options());
    for (size_t i = 0; i < padded.size(); ++i) {
      result = indices.div(from[i], "floor")
                   .remainder(padded[i])
                   .sub(padded_by.pads_begin[i])
                   .mul(to[i])
                   .add(result);
    }
  }
  const std::int64_t planes = indices.size(0) * indices.size(1);
  if (planes == 1) return result;
  const std::int64_t plane = std::accumulate(
      p.spatial.begin(), p.spatial.end(), std::int64_t{1}, std::multiplies<>());
  Ints shape(static_cast<size_t>(indices.dim()), 1);
  shape[0] = indices.size(0);
  shape[1] = indices.size(1);
  return result.add(
      at::arange(planes, indices.options()).mul(plane).reshape(shape));
}

}  // namespace

void LowerMaxPool(NodeContext& ctx) {
  const at::Tensor input = ctx.Tensor(0);
  const Pooling p = ReadPooling(ctx, input);
  at::Tensor x = NeedsFloat(input) ? input.to(at::kFloat) : input;
  Window window = p.window;
  Window padded_by = WithoutPads(p.window);
  bool ceil_mode = p.ceil_mode;
  if (!AtenCanPad(window)) {
    padded_by = ExactPads(p);
    x = PadSpatially(x, padded_by, -std::numeric_limits<double>::infinity());
    window = WithoutPads(window);
    ceil_mode = false;
  }
  if (!ctx.Wants(1)) {
    ctx.Set(0,
            CastTo(MaxPoolOf(ctx, x, window, ceil_mode), input.scalar_type()));
    return;
  }
  const auto [y, indices] = MaxPoolWithIndicesOf(ctx, x, window, ceil_mode);
  ctx.Set(0, CastTo(y, input.scalar_type()));
  ctx.Set(1, OnnxIndices(indices, p, padded_by,
                         ctx.IntAttribute("storage_order", 0) != 0));
}

void LowerMaxUnpool(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const Ints spatial = SpatialSizes(ctx, x);
  const Window w =
      ReadWindow(ctx, ctx.IntsAttribute("kernel_shape", {}), spatial);
  // The indices count in the shape that the attributes give; an explicit
  // output_shape extends it with zeros.
  Ints shape = {x.size(0), x.size(1)};
  std::int64_t plane = 1;
  for (size_t i = 0; i < w.rank(); ++i) {
    shape.push_back((spatial[i] - 1) * w.strides[i] + w.kernel[i] -
                    w.pads_begin[i] - w.pads_end[i]);
    plane *= shape.back();
  }
  const at::Tensor indices = CastTo(ctx.Tensor(1), at::kLong);
  const at::Tensor flat = indices.reshape({-1});
  at::Tensor y =
      w.rank() == 2
          ? at::max_unpool2d(
                x,
                x.size(0) * x.size(1) == 1 ? indices : indices.remainder(plane),
                Ints(shape.begin() + 2, shape.end()))
          : at::zeros({x.size(0) * x.size(1) * plane}, x.options())
                .scatter(0, flat, x.reshape({-1}))
                .reshape(shape);
  if (ctx.Has(2)) {
    const Ints wanted = ctx.Ints(2);
    ctx.Check(wanted.size() == shape.size(), "output_shape has {}, expected {}",
              Counted(wanted.size(), "element"), shape.size());
    Window extension = WithoutPads(w);
    for (size_t i = 0; i < w.rank(); ++i) {
      extension.pads_end[i] = wanted[i + 2] - shape[i + 2];
    }
    if (wanted != shape) y = PadSpatially(y, extension, 0);
  }
  ctx.Set(0, y);
}

}  // namespace foretell::onnx
