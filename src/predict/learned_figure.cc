#include "src/predict/learned_figure.h"

#include <fmt/core.h>

#include <algorithm>

#include "foretell/error.h"
#include "src/core/text.h"
#include "src/predict/scale_figure.h"

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

}  // namespace

std::string LearnedFigure::FarText() const {
  return fmt::format(
      "unlike the networks that were learned from (distance {:f}, 99 % of "
      "those "
      "are below {:f})",
      *source.distance, *source.far_distance);
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

void PutFigure(const LearnedFigure& figure, Prediction& prediction) {
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
