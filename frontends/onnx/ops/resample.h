#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The arithmetic of resampling one axis, free of tensors.
namespace foretell::onnx {

/// Maps elements of a resized axis to positions on the original one.
struct AxisCoordinates {
  std::int64_t input = 0;   ///< Elements of the original axis.
  std::int64_t output = 0;  ///< Elements of the resized axis.
  double scale = 1;         ///< output / input, before rounding.
  double roi_begin = 0;  ///< Begin in tf_crop_and_resize, normalised to [0, 1].
  double roi_end = 1;

  /// True when the axis keeps its elements as they are.
  bool IsIdentity() const { return input == output && scale == 1; }
  /// As IsIdentity, and no part is cropped.
  bool IsWhole() const {
    return IsIdentity() && roi_begin == 0 && roi_end == 1;
  }
};

/// How an axis is resampled; fields are named as Resize's attributes.
struct ResampleRule {
  enum class Kernel : std::uint8_t { kNearest, kLinear, kCubic };
  Kernel kernel = Kernel::kNearest;
  std::string coordinates = "half_pixel";
  std::string nearest_mode = "round_prefer_floor";
  double cubic_coeff_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

/// Position on the original axis of every element of the resized one; empty
/// when `rule.coordinates` is not one of the seven that ONNX defines.
std::optional<std::vector<double>> OriginalPositions(
    const ResampleRule& rule, const AxisCoordinates& axis);

/// Element that the nearest-neighbour rule selects for each of `positions`;
/// empty when `rule.nearest_mode` is unknown.
std::optional<std::vector<std::int64_t>> NearestElements(
    const ResampleRule& rule, const AxisCoordinates& axis,
    const std::vector<double>& positions);

/// Row-major [output, input] weights of linear or cubic interpolation; every
/// row sums to 1. Elements beyond the ends repeat the end; with exclude_outside
/// they are left out and the rest is scaled up.
std::vector<double> InterpolationWeights(const ResampleRule& rule,
                                         const AxisCoordinates& axis,
                                         const std::vector<double>& positions);

}  // namespace foretell::onnx
