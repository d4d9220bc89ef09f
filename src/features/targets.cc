#include "src/features/targets.h"

#include "src/core/name_table.h"

#include <algorithm>

namespace foretell::learned {
namespace {

/// By which DIPPM's released code multiplies values, in the order of Target.
constexpr std::array<double, kNumTargets> kDippmFactors = {1, 1000, 10};
constexpr NameTable<2> kScaleKinds = {"log", "dippm"};
constexpr double kMaxExponent = 60;

double DippmFactor(Target target) {
  return kDippmFactors.at(static_cast<std::size_t>(target));
}

}  // namespace

std::string_view ScaleKindName(ScaleKind kind) {
  return NameIn(kScaleKinds, kind);
}

std::optional<ScaleKind> ParseScaleKind(std::string_view name) {
  return FindIn<ScaleKind>(kScaleKinds, name);
}

double Encode(const TargetScale& scale, double value, double prior) {
  if (scale.kind == ScaleKind::kDippm) {
    return value * DippmFactor(scale.target);
  }
  return (std::log(value / prior) - scale.mean) / scale.deviation;
}

double Decode(const TargetScale& scale, double output, double prior) {
  if (scale.kind == ScaleKind::kDippm) {
    return output / DippmFactor(scale.target);
  }
  const double exponent = output * scale.deviation + scale.mean;
  return prior * std::exp(std::clamp(exponent, -kMaxExponent, kMaxExponent));
}

}  // namespace foretell::learned
