#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretell {

/// Predicted quantity of a step.
enum class Target { kMemory, kLatency, kEnergy };

inline constexpr std::size_t kNumTargets = 3;
inline constexpr std::array<Target, kNumTargets> kAllTargets = {
    Target::kMemory, Target::kLatency, Target::kEnergy};

std::string_view TargetName(Target target);   ///< "memory", "latency", ….
std::string_view TargetField(Target target);  ///< "memory_mib", ….
std::string_view TargetUnit(Target target);   ///< "MiB", "ms", "J".
/// By name or field; empty for an unknown one.
std::optional<Target> ParseTarget(std::string_view name);

/// A range that should contain the true value.
struct Interval {
  double lo = 0;
  double hi = 0;
};

/// Source of a figure.
struct FigureSource {
  std::string method = "analytic, uncalibrated";
  /// Devices whose labels it was learned from; empty: it was not learned.
  std::vector<std::string> trained_on = {};
  /// Distance of the graph from the training graphs; about 1 for a similar one.
  std::optional<double> distance = {};
  /// 99th percentile of the training graphs' distances.
  std::optional<double> far_distance = {};

  bool IsLearned() const { return !trained_on.empty(); }
  /// True if the distance exceeds far_distance.
  bool IsFar() const {
    return distance && far_distance && *distance > *far_distance;
  }
};

/// One predicted number.
struct Figure {
  double value = 0;  ///< In the target's unit: MiB, ms or J.
  Interval interval;
  FigureSource source;
  std::vector<std::string> warnings;  ///< Caveats for the user.
};

}  // namespace foretell
