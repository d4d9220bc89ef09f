// The ATen operator of a Resize node.
//
// ONNX has far more rules than PyTorch, but what PyTorch runs is one of few
// operators, whose cost does not depend on the rule. So the operator is chosen
// by kernel, axes and shape. Whether it also computes what the node asks for is
// not decided by the attributes, whose names hide a dozen corner cases, but by
// the positions: those that ONNX defines are compared with those that ATen's
// kernels use.
#include "frontends/onnx/ops/upsample.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;
using Kernel = ResampleRule::Kernel;

// ---- Values ----------------------------------------------------------------

/// Added to the number of an element by nearest_exact, not by plain nearest.
constexpr float kExactShift = 0.5F;

/// True when upsample_nearest, or with kExactShift its exact variant, takes the
/// elements (aten/src/ATen/native/UpSample.h:
/// nearest_neighbor_exact_compute_source_index).
bool TakesElements(const NodeContext& ctx, const Resizing& r, float shift) {
  for (const AxisCoordinates& axis : r.axes) {
    const float step = static_cast<float>(1.0 / axis.scale);
    const Ints elements = ElementsOf(ctx, r, axis);
    for (size_t i = 0; i < elements.size(); ++i) {
      const float position = (static_cast<float>(i) + shift) * step;
      const auto taken = std::min(
          static_cast<std::int64_t>(std::floor(position)), axis.input - 1);
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
  for (const AxisCoordinates& axis : r.axes) {
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

bool AlignsCorners(const Resizing& r) {
  return r.rule.coordinates == "align_corners";
}

// ---- Operators -------------------------------------------------------------

/// Sizes and scales of the axes that an operator resizes.
struct AtenSize {
  Ints sizes;
  std::vector<std::optional<double>> scales;
};

at::Tensor AtenNearest(const at::Tensor& x, const AtenSize& s, bool exact) {
  const auto& scales = s.scales;
  switch (s.sizes.size()) {
    case 1:
      return exact ? at::_upsample_nearest_exact1d(x, s.sizes, scales[0])
                   : at::upsample_nearest1d(x, s.sizes, scales[0]);
    case 2:
      return exact ? at::_upsample_nearest_exact2d(x, s.sizes, scales[0],
                                                   scales[1])
                   : at::upsample_nearest2d(x, s.sizes, scales[0], scales[1]);
    default:
      return exact ? at::_upsample_nearest_exact3d(x, s.sizes, scales[0],
                                                   scales[1], scales[2])
                   : at::upsample_nearest3d(x, s.sizes, scales[0], scales[1],
                                            scales[2]);
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

/// Kernels that ATen has only for two axes; if only one is resized, the other
/// keeps its size.
at::Tensor AtenPlanar(const at::Tensor& x, const AtenSize& s,
                      const Resizing& r) {
  if (s.sizes.size() == 1) {
    const AtenSize plane{.sizes = {1, s.sizes[0]},
                         .scales = {1.0, s.scales[0]}};
    return AtenPlanar(x.unsqueeze(2), plane, r).squeeze(2);
  }
  const bool corners = AlignsCorners(r);
  const bool cubic = r.rule.kernel == Kernel::kCubic;
  if (!r.rule.antialias) {
    return at::upsample_bicubic2d(x, s.sizes, corners, s.scales[0],
                                  s.scales[1]);
  }
  return cubic ? at::_upsample_bicubic2d_aa(x, s.sizes, corners, s.scales[0],
                                            s.scales[1])
               : at::_upsample_bilinear2d_aa(x, s.sizes, corners, s.scales[0],
                                             s.scales[1]);
}

bool IsPlanar(const Resizing& r) {
  return r.rule.kernel != Kernel::kNearest &&
         (r.rule.kernel == Kernel::kCubic || r.rule.antialias);
}

// ---- Axes ------------------------------------------------------------------

Ints ChangedAxes(const Resizing& r) {
  Ints changed;
  for (size_t a = 0; a < r.axes.size(); ++a) {
    if (!r.axes[a].IsWhole()) changed.push_back(static_cast<std::int64_t>(a));
  }
  return changed;
}

/// The axes of each operator: those after batch and channels, or between batch
/// and channels that come last, else only those that change.
std::vector<Ints> AxesOfOperators(const Resizing& r) {
  const auto most = static_cast<std::ptrdiff_t>(IsPlanar(r) ? 2 : 3);
  const Ints changed = ChangedAxes(r);
  const Ints all = Iota(static_cast<std::int64_t>(r.axes.size()));
  const auto spatial = std::ssize(all) - 2;
  if (spatial >= 1 && spatial <= most) {
    if (changed.front() >= 2) return {Ints(all.begin() + 2, all.end())};
    if (changed.front() == 1 && changed.back() < all.back()) {
      return {Ints(all.begin() + 1, all.end() - 1)};
    }
  }
  std::vector<Ints> axes;
  for (auto at = changed.begin(); at != changed.end();) {
    const auto end = at + std::min(most, changed.end() - at);
    axes.emplace_back(at, end);
    at = end;
  }
  return axes;
}

/// The operator over `axes` of a tensor of any rank.
at::Tensor UpsampledOver(const at::Tensor& x, const Resizing& r,
                         const Ints& axes, bool nearest_exact) {
  AtenSize size;
  Ints order;
  for (std::int64_t a = 0; a < x.dim(); ++a) {
    if (std::ranges::find(axes, a) == axes.end()) order.push_back(a);
  }
  const auto rest = std::ssize(order);
  for (const std::int64_t a : axes) {
    order.push_back(a);
    size.sizes.push_back(r.axes[static_cast<size_t>(a)].output);
    size.scales.push_back(r.axes[static_cast<size_t>(a)].scale);
  }
  const bool moves = !std::ranges::is_sorted(order);
  at::Tensor image = moves ? x.permute(order) : x;
  Ints shape(image.sizes().begin(), image.sizes().begin() + rest);
  if (rest > 2) image = image.flatten(0, rest - 2);
  for (auto i = rest; i < 2; ++i) image = image.unsqueeze(0);
  at::Tensor y = r.rule.kernel == Kernel::kNearest
                     ? AtenNearest(image, size, nearest_exact)
                 : IsPlanar(r) ? AtenPlanar(image, size, r)
                               : AtenLinear(image, size, AlignsCorners(r));
  shape.insert(shape.end(), size.sizes.begin(), size.sizes.end());
  if (rest != 2) y = y.reshape(shape);
  if (!moves) return y;
  Ints back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  return y.permute(back);
}

bool KnowsNearest(at::ScalarType type) {
  return at::isFloatingType(type) || type == at::kByte;
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

bool IsAtenUpsample(const NodeContext& ctx, const at::Tensor& x,
                    const Resizing& r) {
  if (r.rule.coordinates == "tf_crop_and_resize") return false;
  if (r.rule.kernel == Kernel::kNearest) {
    return TakesElements(ctx, r, 0) || TakesElements(ctx, r, kExactShift);
  }
  if (!at::isFloatingType(x.scalar_type()) || r.rule.antialias ||
      r.rule.exclude_outside || !HasAtenPositions(ctx, r, AlignsCorners(r))) {
    return false;
  }
  constexpr double kAtenCubicCoefficient = -0.75;
  return r.rule.kernel == Kernel::kLinear ||
         r.rule.cubic_coeff_a == kAtenCubicCoefficient;
}

at::Tensor Upsampled(const NodeContext& ctx, const at::Tensor& x,
                     const Resizing& r) {
  const bool nearest = r.rule.kernel == Kernel::kNearest;
  if (nearest && !KnowsNearest(x.scalar_type())) return {};
  Ints shape;
  for (const AxisCoordinates& axis : r.axes) shape.push_back(axis.output);
  if (x.numel() == 0 || Product(shape) == 0) {
    return at::zeros(shape, x.options());
  }
  const bool nearest_exact = nearest && !TakesElements(ctx, r, 0) &&
                             TakesElements(ctx, r, kExactShift);
  const at::Tensor floats =
      nearest || at::isFloatingType(x.scalar_type()) ? x : x.to(at::kFloat);
  at::Tensor y = nearest ? floats : FloatOnCpu(floats);
  for (const Ints& axes : AxesOfOperators(r)) {
    y = UpsampledOver(y, r, axes, nearest_exact);
  }
  return CastTo(y, x.scalar_type());
}

}  // namespace foretell::onnx
