// Resampling of one axis: out[i] = Σ_j w(j − x(i)) · in[j].
//
// x(i) is the position of output i on the input axis, w the interpolation's
// kernel: a triangle of half-width 1 (linear) or Keys' cubic of half-width 2.
// Antialiasing stretches the kernel by 1 / scale when shrinking and normalises
// it. Interpolation over several axes is separable, so one axis is all there
// is.
#include "frontends/onnx/ops/resample.h"

#include <algorithm>
#include <cmath>

namespace foretell::onnx {
namespace {

/// Position of output `i`; `length` is the output's length before rounding.
std::optional<double> PositionOf(const std::string& coordinates,
                                 const AxisCoordinates& axis, double length,
                                 double i) {
  const auto last = static_cast<double>(axis.input - 1);
  const double half_pixel = (i + 0.5) / axis.scale - 0.5;
  if (coordinates == "half_pixel") return half_pixel;
  if (coordinates == "asymmetric") return i / axis.scale;
  if (coordinates == "pytorch_half_pixel") {
    return axis.output > 1 ? half_pixel : 0;
  }
  if (coordinates == "align_corners") {
    return length == 1 ? 0 : i * last / (length - 1);
  }
  if (coordinates == "tf_half_pixel_for_nn") return (i + 0.5) / axis.scale;
  if (coordinates == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(axis.output) / length;
    return static_cast<double>(axis.input) / 2 * (1 - adjustment) + half_pixel;
  }
  if (coordinates == "tf_crop_and_resize") {
    const double extent = (axis.roi_end - axis.roi_begin) * last;
    if (axis.output == 1) {
      return axis.roi_begin * last + extent / 2;
    }
    return axis.roi_begin * last +
           i * extent / (static_cast<double>(axis.output) - 1);
  }
  return std::nullopt;
}

double Cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double KernelAt(const ResampleRule& rule, double distance) {
  if (rule.kernel == ResampleRule::Kernel::kCubic) {
    return Cubic(distance, rule.cubic_coeff_a);
  }
  return std::max(1 - std::abs(distance), 0.0);
}

/// Adds the weights of one output at `position` to `row` [input].
void AddWeights(const ResampleRule& rule, const AxisCoordinates& axis,
                double position, double* row) {
  const double stretch = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double half_width =
      (rule.kernel == ResampleRule::Kernel::kCubic ? 2 : 1) / stretch;
  const auto first =
      static_cast<std::int64_t>(std::ceil(position - half_width));
  const auto last =
      static_cast<std::int64_t>(std::floor(position + half_width));
  double sum = 0;
  for (std::int64_t j = first; j <= last; ++j) {
    const bool outside = j < 0 || j >= axis.input;
    if (outside && rule.exclude_outside) continue;
    const double weight =
        KernelAt(rule, (static_cast<double>(j) - position) * stretch);
    row[std::clamp<std::int64_t>(j, 0, axis.input - 1)] += weight;
    sum += weight;
  }
  if (sum == 0) return;
  std::for_each(row, row + axis.input, [sum](double& w) { w /= sum; });
}

}  // namespace

std::optional<std::vector<double>> OriginalPositions(
    const ResampleRule& rule, const AxisCoordinates& axis) {
  const double length = axis.scale * static_cast<double>(axis.input);
  std::vector<double> positions;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const auto position =
        PositionOf(rule.coordinates, axis, length, static_cast<double>(i));
    if (!position) return std::nullopt;
    positions.push_back(*position);
  }
  return positions;
}

std::optional<std::vector<std::int64_t>> NearestElements(
    const ResampleRule& rule, const AxisCoordinates& axis,
    const std::vector<double>& positions) {
  std::vector<std::int64_t> elements;
  for (const double position : positions) {
    double nearest = 0;
    if (rule.nearest_mode == "round_prefer_floor") {
      nearest = std::ceil(position - 0.5);
    } else if (rule.nearest_mode == "round_prefer_ceil") {
      nearest = std::floor(position + 0.5);
    } else if (rule.nearest_mode == "floor") {
      nearest = std::floor(position);
    } else if (rule.nearest_mode == "ceil") {
      nearest = std::ceil(position);
    } else {
      return std::nullopt;
    }
    elements.push_back(std::clamp<std::int64_t>(
        static_cast<std::int64_t>(nearest), 0, axis.input - 1));
  }
  return elements;
}

std::vector<double> InterpolationWeights(const ResampleRule& rule,
                                         const AxisCoordinates& axis,
                                         const std::vector<double>& positions) {
  std::vector<double> weights(static_cast<size_t>(axis.output * axis.input),
                              0.0);
  for (size_t i = 0; i < positions.size(); ++i) {
    AddWeights(rule, axis, positions[i],
               weights.data() + i * static_cast<size_t>(axis.input));
  }
  return weights;
}

}  // namespace foretell::onnx
