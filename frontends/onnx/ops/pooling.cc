// Pooling over windows.
//
// ATen's pooling operators take one pad per axis, at most half a kernel, and
// know dilation only for the maximum. Where a node asks for more, the input is
// first brought to the exact length that the output needs,
//
//     (outputs − 1) · stride + extent,
//
// filled with the operation's neutral element, and pooled without pads. An
// average that leaves pads out is then the quotient of two averages: that of
// the padded input and that of a padded tensor of ones.
#include <ATen/ops/abs.h>
#include <ATen/ops/adaptive_avg_pool1d.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/adaptive_max_pool1d.h>
#include <ATen/ops/adaptive_max_pool2d.h>
#include <ATen/ops/adaptive_max_pool3d.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/max_pool1d_with_indices.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool3d.h>
#include <ATen/ops/max_pool3d_with_indices.h>
#include <ATen/ops/max_unpool2d.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/roi.h"
#include "frontends/onnx/ops/type_support.h"
#include "frontends/onnx/ops/window.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

struct Pooling {
  Window window;
  Ints spatial;  ///< Sizes of the input.
  Ints outputs;  ///< Sizes of the output.
  bool ceil_mode = false;
};

[[noreturn]] void FailRank(const NodeContext& ctx, size_t spatial_rank) {
  ctx.Fail(ErrorCode::kUnsupported, "pooling over " +
                                        std::to_string(spatial_rank) +
                                        " spatial axes, foretell knows 1 to 3");
}

/// Windows along axis `i`. With ceil_mode a last window that would start in the
/// padding after the input is left out.
std::int64_t Outputs(const Pooling& p, size_t i) {
  const Window& w = p.window;
  const std::int64_t reach =
      p.spatial[i] + w.pads_begin[i] + w.pads_end[i] - w.Extent(i);
  if (reach < 0) return 0;
  if (!p.ceil_mode) return reach / w.strides[i] + 1;
  const std::int64_t count = CeilDiv(reach, w.strides[i]) + 1;
  const bool starts_outside =
      (count - 1) * w.strides[i] >= p.spatial[i] + w.pads_begin[i];
  return starts_outside ? count - 1 : count;
}

Pooling ReadPooling(const NodeContext& ctx, const at::Tensor& x) {
  Pooling p{.spatial = SpatialSizes(ctx, x)};
  ctx.RequireAttribute("kernel_shape", Attribute::Kind::kInts);
  p.window = ReadWindow(ctx, ctx.IntsAttribute("kernel_shape", {}), p.spatial);
  const std::string auto_pad = ctx.StringAttribute("auto_pad", "NOTSET");
  // With SAME and VALID rounding up and down give the same number of windows.
  p.ceil_mode = auto_pad == "NOTSET" && ctx.IntAttribute("ceil_mode", 0) != 0;
  for (size_t i = 0; i < p.spatial.size(); ++i) {
    p.outputs.push_back(Outputs(p, i));
    ctx.Check(p.outputs.back() > 0, "kernel_shape spans " +
                                        std::to_string(p.window.Extent(i)) +
                                        " elements, more than axis " +
                                        std::to_string(i + 2) + " has");
  }
  return p;
}

/// True when ATen's own `padding` argument can express the pads.
bool AtenCanPad(const Window& w) {
  if (!w.HasSymmetricPads()) return false;
  for (size_t i = 0; i < w.rank(); ++i) {
    if (w.pads_begin[i] > w.kernel[i] / 2) return false;
  }
  return true;
}

/// The pads after which the windows fit exactly and none is needed.
Window ExactPads(const Pooling& p) {
  Window exact = p.window;
  for (size_t i = 0; i < exact.rank(); ++i) {
    exact.pads_end[i] = (p.outputs[i] - 1) * exact.strides[i] +
                        exact.Extent(i) - p.spatial[i] - exact.pads_begin[i];
  }
  return exact;
}

Window WithoutPads(Window window) {
  window.pads_begin.assign(window.rank(), 0);
  window.pads_end.assign(window.rank(), 0);
  return window;
}

// ---- Maximum ---------------------------------------------------------------

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
      FailRank(ctx, w.rank());
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
      FailRank(ctx, w.rank());
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
    ctx.Check(wanted.size() == shape.size(),
              "output_shape has " + std::to_string(wanted.size()) +
                  " elements, expected " + std::to_string(shape.size()));
    Window extension = WithoutPads(w);
    for (size_t i = 0; i < w.rank(); ++i) {
      extension.pads_end[i] = wanted[i + 2] - shape[i + 2];
    }
    if (wanted != shape) y = PadSpatially(y, extension, 0);
  }
  ctx.Set(0, y);
}

// ---- Average and Lp norm ---------------------------------------------------

at::Tensor AveragePoolOf(const NodeContext& ctx, const at::Tensor& x,
                         const Window& w, bool ceil_mode, bool include_pad) {
  switch (w.rank()) {
    case 1:
      return at::avg_pool1d(x, w.kernel, w.strides, w.pads_begin, ceil_mode,
                            include_pad);
    case 2:
      return at::avg_pool2d(x, w.kernel, w.strides, w.pads_begin, ceil_mode,
                            include_pad);
    case 3:
      return at::avg_pool3d(x, w.kernel, w.strides, w.pads_begin, ceil_mode,
                            include_pad);
    default:
      FailRank(ctx, w.rank());
  }
}

/// Sums over dilated windows, as a convolution of each plane with ones.
at::Tensor DilatedSums(const NodeContext& ctx, const at::Tensor& x,
                       const Window& w) {
  Ints planes = x.sizes().vec();
  planes[0] *= planes[1];
  planes[1] = 1;
  Ints kernel = {1, 1};
  kernel.insert(kernel.end(), w.kernel.begin(), w.kernel.end());
  const at::Tensor input = x.reshape(planes);
  const at::Tensor ones = at::ones(kernel, x.options());
  const Ints none(w.rank(), 0);
  at::Tensor sums;
  switch (w.rank()) {
    case 1:
      sums = at::conv1d(input, ones, {}, w.strides, none, w.dilations);
      break;
    case 2:
      sums = at::conv2d(input, ones, {}, w.strides, none, w.dilations);
      break;
    case 3:
      sums = at::conv3d(input, ones, {}, w.strides, none, w.dilations);
      break;
    default:
      FailRank(ctx, w.rank());
  }
  Ints shape = sums.sizes().vec();
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  return sums.reshape(shape);
}

std::int64_t KernelElements(const Window& w) {
  return std::accumulate(w.kernel.begin(), w.kernel.end(), std::int64_t{1},
                         std::multiplies<>());
}

/// Means over the windows of an input that they fit exactly.
at::Tensor WindowMeans(const NodeContext& ctx, const at::Tensor& x,
                       const Window& w) {
  if (w.HasDilation()) {
    return DilatedSums(ctx, x, w).div(static_cast<double>(KernelElements(w)));
  }
  return AveragePoolOf(ctx, x, WithoutPads(w), /*ceil_mode=*/false,
                       /*include_pad=*/true);
}

/// Share of each window that counts: the input, and the declared pads where
/// `include_pad` is set. Shape [1, 1, outputs].
at::Tensor CountedShare(const NodeContext& ctx, const at::Tensor& x,
                        const Pooling& p, bool include_pad) {
  Ints shape = {1, 1};
  Window rest = ExactPads(p);
  for (size_t i = 0; i < p.spatial.size(); ++i) {
    const std::int64_t pads = p.window.pads_begin[i] + p.window.pads_end[i];
    shape.push_back(p.spatial[i] + (include_pad ? pads : 0));
    if (!include_pad) continue;
    rest.pads_end[i] -= p.window.pads_end[i];
    rest.pads_begin[i] = 0;
  }
  const at::Tensor ones = at::ones(shape, x.options());
  return WindowMeans(ctx, PadSpatially(ones, rest, 0), rest);
}

void LowerAveragePool(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const Pooling p = ReadPooling(ctx, x);
  const bool include_pad = ctx.IntAttribute("count_include_pad", 0) != 0;
  if (AtenCanPad(p.window) && !p.window.HasDilation()) {
    ctx.Set(0, AveragePoolOf(ctx, x, p.window, p.ceil_mode, include_pad));
    return;
  }
  const Window exact = ExactPads(p);
  const at::Tensor means = WindowMeans(ctx, PadSpatially(x, exact, 0), exact);
  const bool every_element_counts =
      include_pad && (!p.ceil_mode || exact.pads_end == p.window.pads_end);
  ctx.Set(0, every_element_counts
                 ? means
                 : means.div(CountedShare(ctx, x, p, include_pad)));
}

/// The norm's order, a float in version 1.
double NormOrder(const NodeContext& ctx) {
  return ctx.opset() < 2 ? ctx.FloatAttribute("p", 2)
                         : static_cast<double>(ctx.IntAttribute("p", 2));
}

void LowerLpPool(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const Pooling p = ReadPooling(ctx, x);
  const double order = NormOrder(ctx);
  const Window exact = ExactPads(p);
  const at::Tensor powers = at::pow(at::abs(x), order);
  const at::Tensor means =
      WindowMeans(ctx, PadSpatially(powers, exact, 0), exact);
  const auto elements = static_cast<double>(KernelElements(p.window));
  ctx.Set(0, at::pow(means.mul(elements), 1 / order));
}

// ---- Global ----------------------------------------------------------------

Ints SpatialAxes(const at::Tensor& x) {
  Ints axes(static_cast<size_t>(x.dim()) - 2);
  std::iota(axes.begin(), axes.end(), std::int64_t{2});
  return axes;
}

void LowerGlobalAveragePool(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  SpatialSizes(ctx, x);
  switch (x.dim()) {
    case 3:
      ctx.Set(0, at::adaptive_avg_pool1d(x, Ints{1}));
      return;
    case 4:
      ctx.Set(0, at::adaptive_avg_pool2d(x, Ints{1, 1}));
      return;
    case 5:
      ctx.Set(0, at::adaptive_avg_pool3d(x, Ints{1, 1, 1}));
      return;
    default:
      ctx.Set(0, at::mean(x, SpatialAxes(x), /*keepdim=*/true));
  }
}

void LowerGlobalMaxPool(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  SpatialSizes(ctx, x);
  switch (x.dim()) {
    case 3:
      ctx.Set(0, std::get<0>(at::adaptive_max_pool1d(x, Ints{1})));
      return;
    case 4:
      ctx.Set(0, std::get<0>(at::adaptive_max_pool2d(x, Ints{1, 1})));
      return;
    case 5:
      ctx.Set(0, std::get<0>(at::adaptive_max_pool3d(x, Ints{1, 1, 1})));
      return;
    default:
      ctx.Set(0, at::amax(x, SpatialAxes(x), /*keepdim=*/true));
  }
}

void LowerGlobalLpPool(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  SpatialSizes(ctx, x);
  ctx.Set(0, at::linalg_vector_norm(x, NormOrder(ctx), SpatialAxes(x),
                                    /*keepdim=*/true));
}

constexpr OnnxOperator kRows[] = {
    {"AveragePool", {1, kAny}, &LowerAveragePool},
    {"GlobalAveragePool", {1, kAny}, &LowerGlobalAveragePool},
    {"GlobalLpPool", {1, kAny}, &LowerGlobalLpPool},
    {"GlobalMaxPool", {1, kAny}, &LowerGlobalMaxPool},
    {"LpPool", {1, kAny}, &LowerLpPool},
    {"MaxPool", {1, kAny}, &LowerMaxPool},
    {"MaxRoiPool", {1, kAny}, &LowerMaxRoiPool},
    {"MaxUnpool", {9, kAny}, &LowerMaxUnpool},
};

}  // namespace

std::span<const OnnxOperator> PoolingOperators() { return kRows; }

}  // namespace foretell::onnx
