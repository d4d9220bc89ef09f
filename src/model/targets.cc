#include "src/model/targets.h"

#include <algorithm>

namespace foretell::model {
namespace {

struct TargetRow {
  std::string_view name;
  std::string_view field;
  std::string_view unit;
  double dippm_factor;
};

constexpr std::array<TargetRow, kNumTargets> kTargets = {{
    {"memory", "memory_mib", "MiB", 1},
    {"latency", "latency_ms", "ms", 1000},
    {"energy", "energy_j", "J", 10},
}};

constexpr std::array<std::string_view, 2> kScaleKinds = {"log", "dippm"};
constexpr double kMaxExponent = 60;

const TargetRow& RowOf(Target target) {
  return kTargets.at(static_cast<std::size_t>(target));
}

}  // namespace

std::string_view TargetName(Target target) { return RowOf(target).name; }
std::string_view TargetField(Target target) { return RowOf(target).field; }
std::string_view TargetUnit(Target target) { return RowOf(target).unit; }

std::optional<Target> ParseTarget(std::string_view name) {
  for (const Target target : kAllTargets) {
    if (name == TargetName(target) || name == TargetField(target)) {
      return target;
    }
  }
  return std::nullopt;
}

std::string_view ScaleKindName(ScaleKind kind) {
  return kScaleKinds.at(static_cast<std::size_t>(kind));
}

std::optional<ScaleKind> ParseScaleKind(std::string_view name) {
  const auto* found = std::ranges::find(kScaleKinds, name);
  if (found == kScaleKinds.end()) return std::nullopt;
  return static_cast<ScaleKind>(found - kScaleKinds.begin());
}

double Encode(const TargetScale& scale, double value, double prior) {
  if (scale.kind == ScaleKind::kDippm) {
    return value * RowOf(scale.target).dippm_factor;
  }
  return (std::log(value / prior) - scale.mean) / scale.deviation;
}

double Decode(const TargetScale& scale, double output, double prior) {
  if (scale.kind == ScaleKind::kDippm) {
    return output / RowOf(scale.target).dippm_factor;
  }
  const double exponent = output * scale.deviation + scale.mean;
  return prior * std::exp(std::clamp(exponent, -kMaxExponent, kMaxExponent));
}

}  // namespace foretell::model
