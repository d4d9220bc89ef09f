#include "src/answer/learned_figure.h"

#include <fmt/core.h>

#include <algorithm>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/text.h"
#include "src/core/units.h"
#include "src/correct/scale_figure.h"

namespace foretell::learned {
namespace {

constexpr double kLeastFigure = 1e-6;
constexpr double kMostFigure = 1e9;

/// Value and source; the range in proportion where none was learned.
void Replace(const LearnedFigure& learned, Figure& figure) {
  const double ratio = learned.value / figure.value;
  Scale(figure.interval, ratio);
  if (learned.interval) figure.interval = *learned.interval;
  figure.value = learned.value;
  figure.source = learned.source;
}

/// Why no network may predict that; empty if it may.
std::string TooLittle(const LearnedFigure& figure, double least) {
  if (figure.value >= least) return "";
  const std::string_view unit = TargetUnit(figure.target);
  return fmt::format(
      "the network says {} {}, less than the {} {} that the step takes at "
      "least",
      FormatSignificant(figure.value), unit, FormatSignificant(least), unit);
}

/// A network predicts the total only.
void WarnOfParts(Prediction& prediction) {
  prediction[Target::kMemory].warnings.push_back(fmt::format(
      "memory: its parts are those of the analytic model, which says {} MiB in "
      "all",
      FormatSignificant(ToMiB(prediction.memory.total))));
}

/// The least stays what it is: the rest of a learned figure is cache.
void MoveCache(double memory_mib, Prediction& prediction) {
  const double least_mib =
      ToMiB(prediction.memory.total) - prediction.cache_mib;
  prediction.cache_mib =
      std::clamp(memory_mib - least_mib, 0.0, prediction.cache_mib);
}

}  // namespace

std::string LearnedFigure::FarText() const {
  return fmt::format(
      "the network is unlike those learned from (distance {:.2f}, far: above "
      "{:.2f})",
      *source.distance, source.far_distance.value_or(kOutsideDeviations));
}

bool IsOnlySimulated(const CheckpointInfo& info) {
  return info.provenance.size() == 1 && info.provenance.contains("simulated");
}

FigureSource SourceOf(const CheckpointInfo& info,
                      std::optional<double> distance) {
  return {
      .method = fmt::format("{}learned from {}{}",
                            info.recipe.AveragesPrior()
                                ? info.recipe.prior + " averaged with "
                                : "",
                            IsOnlySimulated(info) ? "simulated labels of " : "",
                            Joined(info.sources)),
      .trained_on = info.devices,
      .distance = distance,
      .far_distance = info.far_distance};
}

void RefuseImplausible(const LearnedFigure& figure, const std::string& origin) {
  const auto check = [&](const char* what, double number) {
    if (number >= kLeastFigure && number <= kMostFigure) return;
    throw Error(
        ErrorCode::kCorrupt,
        fmt::format("{}: predicts {}{} of {:g} {}, expected {:g} to "
                    "{:g}: the checkpoint is damaged",
                    origin, what, TargetName(figure.target), number,
                    TargetUnit(figure.target), kLeastFigure, kMostFigure));
  };
  check("", figure.value);
  if (!figure.interval) return;
  check("a lower end of ", figure.interval->lo);
  check("an upper end of ", figure.interval->hi);
}

bool TakeFigure(const LearnedFigure& figure, const LearnedRequest& request,
                Prediction& prediction) {
  const double least = request.least.Of(figure.target);
  std::string objection = TooLittle(figure, least);
  if (objection.empty() && figure.IsOutside()) objection = figure.FarText();
  if (!objection.empty()) {
    KeepAnalytic(figure.target, objection, prediction);
    return false;
  }
  PutFigure(figure, prediction);
  if (figure.target == Target::kMemory) WarnOfParts(prediction);
  Interval& interval = prediction[figure.target].interval;
  interval.lo = std::max(interval.lo, least);
  return true;
}

void KeepAnalytic(Target target, const std::string& reason,
                  Prediction& prediction) {
  prediction[target].warnings.push_back(
      fmt::format("{}: analytic, as {}", TargetName(target), reason));
}

void PutFigure(const LearnedFigure& figure, Prediction& prediction) {
  if (figure.target == Target::kMemory) MoveCache(figure.value, prediction);
  Figure& present = prediction[figure.target];
  const double ratio = figure.value / present.value;
  ScaleCompanions(figure.target, ratio, prediction);
  Replace(figure, present);
}

void WarnOf(const LearnedFigure& figure, const DeviceSpec& device,
            std::vector<std::string>& warnings) {
  const std::string name(TargetName(figure.target));
  if (figure.source.IsFar()) {
    warnings.push_back(fmt::format("{}: {}: its interval need not hold", name,
                                   figure.FarText()));
  }
  if (!figure.interval) {
    warnings.push_back(name +
                       ": its network has no interval, for want of held-out "
                       "labels; the range is the analytic one in proportion");
  }
  const std::vector<std::string>& known = figure.source.trained_on;
  if (std::ranges::find(known, device.name) == known.end()) {
    warnings.push_back(
        fmt::format("{}: no measurement of {} was learned from, only of {}",
                    name, device.name, Joined(known)));
  }
}

}  // namespace foretell::learned
