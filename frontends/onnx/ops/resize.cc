// Resize: the upsample operator that eager PyTorch code would call. Where it
// computes something else and values count, they come from a gather (nearest)
// or a product with a weight matrix (linear, cubic) per axis, which no trace
// sees.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/lowerings.h"
#include "frontends/onnx/ops/resample.h"
#include "frontends/onnx/ops/type_support.h"
#include "frontends/onnx/ops/upsample.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;
using Kernel = ResampleRule::Kernel;

/// More weights than this in one axis' matrix are refused: no image needs them.
constexpr std::int64_t kMaxWeights = std::int64_t{1} << 26;

/// Longest axis that is resized.
constexpr double kMaxOutput = 1 << 24;

// ---- Reading ---------------------------------------------------------------

Kernel KernelOf(const NodeContext& ctx) {
  const std::string mode = ctx.StringAttribute("mode", "nearest");
  if (mode == "nearest") return Kernel::kNearest;
  if (mode == "linear" || mode == "bilinear") return Kernel::kLinear;
  if (mode == "cubic") return Kernel::kCubic;
  FailAttribute(ctx, "mode", mode);
}

std::vector<AxisCoordinates> UnchangedAxes(const at::Tensor& x) {
  std::vector<AxisCoordinates> axes;
  for (const std::int64_t size : x.sizes()) {
    axes.push_back({.input = size, .output = size});
  }
  return axes;
}

void CheckCount(const NodeContext& ctx, std::string_view what, size_t count,
                size_t expected) {
  if (count == expected) return;
  ctx.Fail(ErrorCode::kCorrupt, "{} has {}, expected {}", what,
           Counted(count, "element"), expected);
}

void SetOutput(const NodeContext& ctx, double length, AxisCoordinates& axis) {
  if (!(length >= 0 && length <= kMaxOutput)) {
    ctx.Fail(ErrorCode::kUnsupported, "an axis of {} becomes one of {:f}",
             Counted(axis.input, "element"), length);
  }
  axis.output = static_cast<std::int64_t>(length);
}

void ApplyScales(const NodeContext& ctx, const std::vector<double>& scales,
                 const Ints& which, bool crops, Resizing& r) {
  CheckCount(ctx, "scales", scales.size(), which.size());
  for (size_t k = 0; k < which.size(); ++k) {
    AxisCoordinates& axis = r.axes[static_cast<size_t>(which[k])];
    ctx.Check(scales[k] > 0, "scales holds {:f}", scales[k]);
    const double share = crops ? axis.roi_end - axis.roi_begin : 1;
    axis.scale = scales[k];
    // In float, as the writers of the files compute it: 3 · (7 / 3) is 7 there.
    const float length = static_cast<float>(axis.input) *
                         static_cast<float>(share) *
                         static_cast<float>(scales[k]);
    SetOutput(ctx, std::floor(length), axis);
  }
}

double ScaleTo(std::int64_t size, std::int64_t input) {
  return input == 0 ? 1
                    : static_cast<double>(size) / static_cast<double>(input);
}

void ApplySizes(const NodeContext& ctx, const Ints& sizes, const Ints& which,
                Resizing& r) {
  CheckCount(ctx, "sizes", sizes.size(), which.size());
  const std::string policy =
      ctx.StringAttribute("keep_aspect_ratio_policy", "stretch");
  std::optional<double> common;
  for (size_t k = 0; k < which.size(); ++k) {
    AxisCoordinates& axis = r.axes[static_cast<size_t>(which[k])];
    SetOutput(ctx, static_cast<double>(sizes[k]), axis);
    axis.scale = ScaleTo(sizes[k], axis.input);
    if (policy == "not_larger") {
      common = std::min(common.value_or(axis.scale), axis.scale);
    } else if (policy == "not_smaller") {
      common = std::max(common.value_or(axis.scale), axis.scale);
    } else if (policy != "stretch") {
      FailAttribute(ctx, "keep_aspect_ratio_policy", policy);
    }
  }
  if (!common) return;
  for (const std::int64_t i : which) {
    AxisCoordinates& axis = r.axes[static_cast<size_t>(i)];
    axis.scale = *common;
    SetOutput(ctx, std::floor(*common * static_cast<double>(axis.input) + 0.5),
              axis);
  }
}

void ReadRoi(NodeContext& ctx, const Ints& which, Resizing& r) {
  ctx.Check(ctx.Has(1), "roi is missing");
  const std::vector<double> roi = ctx.Doubles(1);
  CheckCount(ctx, "roi", roi.size(), 2 * which.size());
  for (size_t k = 0; k < which.size(); ++k) {
    AxisCoordinates& axis = r.axes[static_cast<size_t>(which[k])];
    axis.roi_begin = roi[k];
    axis.roi_end = roi[which.size() + k];
  }
}

/// True when the input exists and is not the empty tensor that old exporters
/// write for an absent one.
bool IsGiven(NodeContext& ctx, size_t i) {
  if (!ctx.Has(i)) return false;
  const auto* tensor = std::get_if<at::Tensor>(&ctx.Raw(i));
  return tensor != nullptr && tensor->numel() > 0;
}

Resizing ReadResizing(NodeContext& ctx, const at::Tensor& x) {
  Resizing r{.axes = UnchangedAxes(x)};
  ResampleRule& rule = r.rule;
  rule.kernel = KernelOf(ctx);
  if (ctx.opset() < 11) {
    rule.coordinates = "asymmetric";
    rule.nearest_mode = "floor";
    ApplyScales(ctx, ctx.Doubles(1), Iota(x.dim()), false, r);
    return r;
  }
  rule.coordinates =
      ctx.StringAttribute("coordinate_transformation_mode", "half_pixel");
  rule.nearest_mode = ctx.StringAttribute("nearest_mode", "round_prefer_floor");
  rule.cubic_coeff_a = ctx.FloatAttribute("cubic_coeff_a", -0.75);
  rule.exclude_outside = ctx.IntAttribute("exclude_outside", 0) != 0;
  rule.antialias = ctx.IntAttribute("antialias", 0) != 0;
  r.extrapolation = ctx.FloatAttribute("extrapolation_value", 0);
  const Ints which =
      NormalizeAxes(ctx, ctx.IntsAttribute("axes", Iota(x.dim())), x.dim());
  const bool crops = rule.coordinates == "tf_crop_and_resize";
  if (crops) ReadRoi(ctx, which, r);
  if (IsGiven(ctx, 3)) {
    ApplySizes(ctx, ctx.Ints(3), which, r);
  } else if (IsGiven(ctx, 2)) {
    ApplyScales(ctx, ctx.Doubles(2), which, crops, r);
  } else {
    ctx.Fail(ErrorCode::kCorrupt, "both scales and sizes are missing");
  }
  return r;
}

// ---- Axis by axis ----------------------------------------------------------

at::Tensor GatherAxis(const NodeContext& ctx, const at::Tensor& x,
                      const Resizing& r, std::int64_t a) {
  const Ints elements = ElementsOf(ctx, r, r.axes[static_cast<size_t>(a)]);
  return at::index_select(x, a,
                          MovedTo(at::tensor(elements, at::kLong), x.device()));
}

at::Tensor InterpolateAxis(const NodeContext& ctx, const at::Tensor& x,
                           const Resizing& r, std::int64_t a) {
  const AxisCoordinates& axis = r.axes[static_cast<size_t>(a)];
  if (axis.output > 0 && axis.input > kMaxWeights / axis.output) {
    ctx.Fail(ErrorCode::kUnsupported,
             "interpolation from {} to {} has no ATen operator", axis.input,
             Counted(axis.output, "element"));
  }
  const std::vector<double> weights =
      InterpolationWeights(r.rule, axis, PositionsOf(ctx, r, axis));
  const at::Tensor matrix = MovedTo(at::tensor(weights, at::kDouble)
                                        .reshape({axis.output, axis.input})
                                        .t()
                                        .to(x.scalar_type()),
                                    x.device());
  return at::matmul(x.transpose(a, -1), matrix).transpose(a, -1);
}

/// tf_crop_and_resize gives positions outside the input a value of their own.
at::Tensor Extrapolated(const NodeContext& ctx, at::Tensor y,
                        const Resizing& r) {
  for (size_t a = 0; a < r.axes.size(); ++a) {
    const std::vector<double> positions = PositionsOf(ctx, r, r.axes[a]);
    const auto last = static_cast<double>(r.axes[a].input - 1);
    Ints outside;
    for (const double p : positions) outside.push_back(p < 0 || p > last);
    if (std::count(outside.begin(), outside.end(), 1) == 0) continue;
    Ints shape(r.axes.size(), 1);
    shape[a] = r.axes[a].output;
    const at::Tensor mask =
        MovedTo(at::tensor(outside, at::kLong).to(at::kBool).reshape(shape),
                y.device());
    y = at::where(mask, at::scalar_tensor(r.extrapolation, y.options()), y);
  }
  return y;
}

at::Tensor AxisByAxis(const NodeContext& ctx, const at::Tensor& x,
                      const Resizing& r) {
  const bool nearest = r.rule.kernel == Kernel::kNearest;
  const bool exact = nearest || at::isFloatingType(x.scalar_type());
  at::Tensor y = exact ? x : x.to(at::kFloat);
  for (std::int64_t a = 0; a < x.dim(); ++a) {
    if (r.axes[static_cast<size_t>(a)].IsWhole()) continue;
    y = nearest ? GatherAxis(ctx, y, r, a) : InterpolateAxis(ctx, y, r, a);
  }
  if (r.rule.coordinates == "tf_crop_and_resize") y = Extrapolated(ctx, y, r);
  return CastTo(y, x.scalar_type());
}

/// Fails where the node's rules are unknown, whether or not values count.
void RequireKnownRules(const NodeContext& ctx, const Resizing& r) {
  for (const AxisCoordinates& axis : r.axes) {
    if (r.rule.kernel == Kernel::kNearest) {
      ElementsOf(ctx, r, axis);
    } else {
      PositionsOf(ctx, r, axis);
    }
  }
}

void Resize(NodeContext& ctx, const at::Tensor& x, const Resizing& r) {
  if (std::ranges::all_of(r.axes, &AxisCoordinates::IsWhole)) {
    ctx.Set(0, x);
    return;
  }
  RequireKnownRules(ctx, r);
  const auto exact = [&] { return AxisByAxis(ctx, x, r); };
  const at::Tensor y = Upsampled(ctx, x, r);
  if (!y.defined()) {
    ctx.Set(0, exact());
  } else {
    ctx.Set(0, IsAtenUpsample(ctx, x, r) ? y : WithValues(y, exact));
  }
}

}  // namespace

void LowerResize(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  Resize(ctx, x, ReadResizing(ctx, x));
}

void LowerUpsample(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  Resizing r{.axes = UnchangedAxes(x)};
  r.rule.kernel = KernelOf(ctx);
  r.rule.coordinates = "asymmetric";
  r.rule.nearest_mode = "floor";
  std::vector<double> scales;
  if (ctx.opset() >= 9) {
    scales = ctx.Doubles(1);
  } else if (ctx.opset() >= 7) {
    scales = ctx.FloatsAttribute("scales", {});
  } else {
    scales = {1, 1, ctx.FloatAttribute("height_scale", 1),
              ctx.FloatAttribute("width_scale", 1)};
  }
  ApplyScales(ctx, scales, Iota(x.dim()), false, r);
  Resize(ctx, x, r);
}

}  // namespace foretell::onnx
