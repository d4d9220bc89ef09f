#include "src/model/targets.h"

#include <algorithm>

namespace foretell::model {
namespace {

/// By which DIPPM's released code multiplies values, in the order of Target.
constexpr std::array<double, kNumTargets> kDippmFactors = {1, 1000, 10};
constexpr std::array<std::string_view, 2> kScaleKinds = {"log", "dippm"};
constexpr double kMaxExponent = 60;

double DippmFactor(Target target) {
  return kDippmFactors.at(static_cast<std::size_t>(target));
}

}  // namespace

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

}  // namespace foretell::model
