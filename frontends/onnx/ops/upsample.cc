// Finds the ATen operator that computes a Resize node.
//
// Whether one does is not read off the attributes, whose names hide a dozen
// corner cases, but off the positions: those that ONNX defines are compared
// with those that ATen's kernels use. So an exporter's integer scale finds
// upsample_nearest2d under whatever coordinate rule it was written.
#include "frontends/onnx/ops/upsample.h"

#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_linear1d.h>
#include <ATen/ops/upsample_nearest1d.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/upsample_nearest3d.h>
#include <ATen/ops/upsample_trilinear3d.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontends/onnx/ops/helpers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;
using Kernel = ResampleRule::Kernel;

/// True when upsample_nearest takes the same elements of every spatial axis.
bool IsAtenNearest(const NodeContext& ctx, const Resizing& r) {
  for (size_t a = 2; a < r.axes.size(); ++a) {
    const AxisCoordinates& axis = r.axes[a];
    const float step = static_cast<float>(1.0 / axis.scale);
    const Ints elements = ElementsOf(ctx, r, axis);
    for (size_t i = 0; i < elements.size(); ++i) {
      const auto taken = std::min(
          static_cast<std::int64_t>(std::floor(static_cast<float>(i) * step)),
          axis.input - 1);
      if (taken != elements[i]) return false;
    }
  }
  return true;
}

/// True when ATen's linear or cubic kernels use the same positions. Linear
/// kernels clamp positions to the axis first, which changes no result.
bool HasAtenPositions(const NodeContext& ctx, const Resizing& r,
                      bool align_corners) {
  constexpr double kTolerance = 1e-6;
  for (size_t a = 2; a < r.axes.size(); ++a) {
    const AxisCoordinates& axis = r.axes[a];
    const std::vector<double> positions = PositionsOf(ctx, r, axis);
    const double corners = axis.output > 1
                               ? static_cast<double>(axis.input - 1) /
                                     static_cast<double>(axis.output - 1)
                               : 0;
    for (size_t i = 0; i < positions.size(); ++i) {
      const auto index = static_cast<double>(i);
      const double used =
          align_corners ? index * corners : (index + 0.5) / axis.scale - 0.5;
      if (std::abs(used - positions[i]) > kTolerance * (1 + std::abs(used))) {
        return false;
      }
    }
  }
  return true;
}

/// Sizes and scales of the spatial axes, as ATen's operators take them.
struct AtenSize {
  Ints sizes;
  std::vector<std::optional<double>> scales;
};

AtenSize AtenSizeOf(const Resizing& r) {
  AtenSize size;
  for (size_t a = 2; a < r.axes.size(); ++a) {
    size.sizes.push_back(r.axes[a].output);
    size.scales.push_back(r.axes[a].scale);
  }
  return size;
}

at::Tensor AtenNearest(const at::Tensor& x, const AtenSize& s) {
  switch (s.sizes.size()) {
    case 1:
      return at::upsample_nearest1d(x, s.sizes, s.scales[0]);
    case 2:
      return at::upsample_nearest2d(x, s.sizes, s.scales[0], s.scales[1]);
    default:
      return at::upsample_nearest3d(x, s.sizes, s.scales[0], s.scales[1],
                                    s.scales[2]);
  }
}

at::Tensor AtenLinear(const at::Tensor& x, const AtenSize& s, bool corners) {
  switch (s.sizes.size()) {
    case 1:
      return at::upsample_linear1d(x, s.sizes, corners, s.scales[0]);
    case 2:
      return at::upsample_bilinear2d(x, s.sizes, corners, s.scales[0],
                                     s.scales[1]);
    default:
      return at::upsample_trilinear3d(x, s.sizes, corners, s.scales[0],
                                      s.scales[1], s.scales[2]);
  }
}

}  // namespace

std::vector<double> PositionsOf(const NodeContext& ctx, const Resizing& r,
                                const AxisCoordinates& axis) {
  auto positions = OriginalPositions(r.rule, axis);
  if (!positions) {
    FailAttribute(ctx, "coordinate_transformation_mode", r.rule.coordinates);
  }
  return *std::move(positions);
}

Ints ElementsOf(const NodeContext& ctx, const Resizing& r,
                const AxisCoordinates& axis) {
  auto elements = NearestElements(r.rule, axis, PositionsOf(ctx, r, axis));
  if (!elements) FailAttribute(ctx, "nearest_mode", r.rule.nearest_mode);
  return *std::move(elements);
}

at::Tensor UpsampleWithAten(const NodeContext& ctx, const at::Tensor& x,
                            const Resizing& r) {
  if (x.dim() < 3 || x.dim() > 5 || !at::isFloatingType(x.scalar_type()) ||
      !r.axes[0].IsIdentity() || !r.axes[1].IsIdentity() || x.numel() == 0) {
    return {};
  }
  const AtenSize size = AtenSizeOf(r);
  if (std::find(size.sizes.begin(), size.sizes.end(), 0) != size.sizes.end()) {
    return {};
  }
  if (r.rule.kernel == Kernel::kNearest) {
    return IsAtenNearest(ctx, r) ? AtenNearest(x, size) : at::Tensor();
  }
  if (r.rule.antialias || r.rule.exclude_outside ||
      r.rule.coordinates == "tf_crop_and_resize") {
    return {};
  }
  const bool corners = r.rule.coordinates == "align_corners";
  if (!HasAtenPositions(ctx, r, corners)) return {};
  if (r.rule.kernel == Kernel::kLinear) return AtenLinear(x, size, corners);
  constexpr double kAtenCubicCoefficient = -0.75;
  if (x.dim() != 4 || r.rule.cubic_coeff_a != kAtenCubicCoefficient) return {};
  return at::upsample_bicubic2d(x, size.sizes, corners, size.scales[0],
                                size.scales[1]);
}

}  // namespace foretell::onnx
