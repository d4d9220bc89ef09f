// Pooling over windows; max_pool.cc holds the maximum.
//
// ATen's pooling operators accept one pad per axis, at most half a kernel, and
// support dilation only for the maximum. If a node asks for more, the input is
// first brought to the exact length that the output needs,
//
//     (outputs − 1) · stride + extent,
//
// filled with the operation's neutral element, and pooled without pads. An
// average over dilated windows is one over windows that span as much, with the
// values of the dilated ones. An average that leaves pads out is then the
// quotient of two averages: that of the padded input and that of a padded
// tensor of ones.
#include "frontends/onnx/ops/pooling.h"

#include <ATen/ATen.h>

#include <numeric>
#include <string>
#include <tuple>

#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/lowerings.h"
#include "src/core/checked.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

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

}  // namespace

void FailPoolingRank(const NodeContext& ctx, size_t spatial_rank) {
  ctx.Fail(ErrorCode::kUnsupported,
           "pooling over {} spatial axes, foretell knows 1 to 3", spatial_rank);
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
    ctx.Check(p.outputs.back() > 0,
              "kernel_shape spans {}, more than axis {} has",
              Counted(p.window.Extent(i), "element"), i + 2);
  }
  return p;
}

bool AtenCanPad(const Window& w) {
  if (!w.HasSymmetricPads()) return false;
  for (size_t i = 0; i < w.rank(); ++i) {
    if (w.pads_begin[i] > w.kernel[i] / 2) return false;
  }
  return true;
}

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

namespace {

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
      FailPoolingRank(ctx, w.rank());
  }
}

/// Sums over dilated windows, as a convolution of each plane with ones: for
/// WithValues, since the network has no product.
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
      FailPoolingRank(ctx, w.rank());
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

/// Windows without gaps that span as much.
Window Undilated(Window window) {
  for (size_t i = 0; i < window.rank(); ++i) {
    window.kernel[i] = window.Extent(i);
    window.dilations[i] = 1;
  }
  return window;
}

/// Means over the windows of an input that they fit exactly.
at::Tensor WindowMeans(const NodeContext& ctx, const at::Tensor& x,
                       const Window& w) {
  const at::Tensor means =
      AveragePoolOf(ctx, x, WithoutPads(Undilated(w)), /*ceil_mode=*/false,
                    /*include_pad=*/true);
  if (!w.HasDilation()) return means;
  return WithValues(means, [&] {
    return DilatedSums(ctx, x, w).div(static_cast<double>(KernelElements(w)));
  });
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

/// Means over the windows of a padded copy.
at::Tensor PaddedMeans(const NodeContext& ctx, const at::Tensor& x,
                       const Pooling& p, bool include_pad) {
  const Window exact = ExactPads(p);
  const at::Tensor means = WindowMeans(ctx, PadSpatially(x, exact, 0), exact);
  const bool every_element_counts =
      include_pad && (!p.ceil_mode || exact.pads_end == p.window.pads_end);
  return every_element_counts ? means
                              : means.div(CountedShare(ctx, x, p, include_pad));
}

}  // namespace

at::Tensor AveragePool(NodeContext& ctx, const at::Tensor& x) {
  const Pooling p = ReadPooling(ctx, x);
  const bool include_pad = ctx.IntAttribute("count_include_pad", 0) != 0;
  const Window dense = Undilated(p.window);
  if (!AtenCanPad(dense)) {
    return PaddedMeans(ctx, x, p, include_pad);
  }
  const at::Tensor y = AveragePoolOf(ctx, x, dense, p.ceil_mode, include_pad);
  if (!p.window.HasDilation()) return y;
  return WithValues(y, [&] { return PaddedMeans(ctx, x, p, include_pad); });
}

namespace {

void LowerAveragePool(NodeContext& ctx) {
  ctx.Set(0, AveragePool(ctx, ctx.Tensor(0)));
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

}  // namespace

at::Tensor GlobalAveragePool(NodeContext& ctx, const at::Tensor& x) {
  SpatialSizes(ctx, x);
  switch (x.dim()) {
    case 3:
      return at::adaptive_avg_pool1d(x, Ints{1});
    case 4:
      return at::adaptive_avg_pool2d(x, Ints{1, 1});
    case 5:
      return at::adaptive_avg_pool3d(x, Ints{1, 1, 1});
    default:
      return at::mean(x, SpatialAxes(x), /*keepdim=*/true);
  }
}

namespace {

void LowerGlobalAveragePool(NodeContext& ctx) {
  ctx.Set(0, GlobalAveragePool(ctx, ctx.Tensor(0)));
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

constexpr OnnxOperator kPoolingOperators[] = {
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

std::span<const OnnxOperator> PoolingOperators() { return kPoolingOperators; }

}  // namespace foretell::onnx
