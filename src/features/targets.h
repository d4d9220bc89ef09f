#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

#include "foretell/figure.h"

namespace foretell {

/// A number per target in the order of the enum, in MiB, ms and J.
using TargetValues = std::array<double, kNumTargets>;

inline double& ValueOf(TargetValues& values, Target target) {
  return values[static_cast<std::size_t>(target)];
}
inline double ValueOf(const TargetValues& values, Target target) {
  return values[static_cast<std::size_t>(target)];
}

}  // namespace foretell

namespace foretell::learned {

using foretell::kAllTargets;
using foretell::kNumTargets;
using foretell::ParseTarget;
using foretell::Target;
using foretell::TargetName;
using foretell::TargetValues;

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
inline bool IsKnown(double value) { return !std::isnan(value); }

inline constexpr TargetValues kNoValues = {kUnknown, kUnknown, kUnknown};

/// Mapping between values of a target and outputs of a network.
enum class ScaleKind {
  /// (log(value / prior) - mean) / deviation; the prior is 1 without one.
  kLog,
  /// The released code of DIPPM: value × 1 (MiB), × 1000 (ms), × 10 (J), and
  /// the network's output o through -log(sigmoid(o)), which is positive.
  kDippm,
};
std::string_view ScaleKindName(ScaleKind kind);  ///< "log", "dippm".
std::optional<ScaleKind> ParseScaleKind(std::string_view name);

/// Scaling of one target.
struct TargetScale {
  Target target = Target::kMemory;
  ScaleKind kind = ScaleKind::kLog;
  double mean = 0;       ///< Mean of the logarithms; kLog.
  double deviation = 1;  ///< Their deviation, above 0; kLog.

  bool operator==(const TargetScale&) const = default;
};

/// The network output for `value`, after Activate for kDippm.
double Encode(const TargetScale& scale, double value, double prior);
/// The value that the activated output represents: the inverse of Encode.
/// Finite for every finite output: exponents are clamped to ±60 around the
/// prior's.
double Decode(const TargetScale& scale, double output, double prior);

}  // namespace foretell::learned
