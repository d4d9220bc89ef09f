#include "src/predict/apply_adaptation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/text.h"
#include "src/predict/scale_figure.h"
#include "src/predict/two_factors.h"

namespace foretell {
namespace {

[[noreturn]] void RefuseAnother(const std::string& origin,
                                const std::string& what,
                                const std::string& mine,
                                const std::string& asked) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: was fitted to rows with {} {}; asked for is {}",
                          origin, what, mine, asked));
}

std::string NameOf(const HostSpec& host) {
  return host.IsNamed() ? host.name : "without a name";
}

/// Wider if a row that was left out lay further away than the interval goes;
/// by the rows alone if they are enough.
Interval AdaptedInterval(const Figure& figure, const AdaptedFigure& adapted) {
  const auto around = [&figure](double width) {
    return Interval{figure.value * std::exp(-width),
                    figure.value * std::exp(width)};
  };
  if (adapted.half_width) return around(*adapted.half_width);
  const Interval rows = around(adapted.largest_residual);
  return {std::min(rows.lo, figure.interval.lo),
          std::max(rows.hi, figure.interval.hi)};
}

void WarnOfOtherSource(const AdaptedFigure& adapted, Target target,
                       Figure& figure) {
  const std::string& method = figure.source.method;
  if (std::ranges::find(adapted.corrects, method) != adapted.corrects.end()) {
    return;
  }
  figure.warnings.push_back(
      fmt::format("{}: adapted by rows whose figures were {}; this one is {}",
                  TargetName(target), Joined(adapted.corrects), method));
}

double FactorOf(const Adaptation& adaptation, Target target, double macs,
                double value) {
  if (target == Target::kLatency) return adaptation.LatencyFactor(macs, value);
  return target == Target::kEnergy ? std::exp(adaptation.energy_level) : 1;
}

/// Moves a learned memory by the context's constant; an analytic one has it.
void MoveLearnedMemory(double mib, Figure& memory) {
  if (!memory.source.IsLearned()) return;
  memory.value += mib;
  memory.interval.lo += mib;
  memory.interval.hi += mib;
}

}  // namespace

double Adaptation::LatencyFactor(double macs, double predicted_ms) const {
  const double rate =
      std::clamp(std::max(macs, 1.0) / predicted_ms, lowest_rate, highest_rate);
  return std::exp(LevelAndExponent{level, exponent}.LogFactor(
      std::log(rate / reference_rate)));
}

void RequireSameRun(const std::string& origin, const Run& mine,
                    const Run& run) {
  const auto fields = nlohmann::json::parse(RunToJson(mine));
  const auto asked = nlohmann::json::parse(RunToJson(run));
  for (const auto& [field, value] : fields.items()) {
    if (field == "optimizer" && run.mode != Mode::kTraining) continue;
    if (asked.at(field) == value) continue;
    RefuseAnother(origin, field, value.dump(), asked.at(field).dump());
  }
}

void CheckAdaptation(const Adaptation& adaptation, const DeviceSpec& device,
                     const ContextModel& context, const Run& run,
                     const HostSpec& host) {
  if (adaptation.device != device.name) {
    RefuseAnother(adaptation.origin, "device", adaptation.device, device.name);
  }
  if (adaptation[Target::kMemory] && adaptation.context != context.name) {
    RefuseAnother(adaptation.origin, "environment", adaptation.context,
                  context.name);
  }
  if (host.IsNamed() && host.name != HostOf(adaptation, host).name) {
    RefuseAnother(adaptation.origin, "host", NameOf(adaptation.host),
                  NameOf(host));
  }
  RequireSameRun(adaptation.origin, adaptation.run, run);
}

const HostSpec& HostOf(const Adaptation& adaptation, const HostSpec& asked) {
  const bool has_host =
      adaptation[Target::kLatency] || adaptation[Target::kEnergy];
  return has_host ? adaptation.host : asked;
}

void ApplyAdaptation(const Adaptation& adaptation, double macs,
                     Prediction& prediction) {
  for (const Target target : kAllTargets) {  // Energy follows latency.
    const std::optional<AdaptedFigure>& adapted = adaptation[target];
    Figure& figure = prediction[target];
    if (!adapted || !(figure.value > 0)) continue;
    if (target == Target::kMemory) {
      MoveLearnedMemory(adaptation.memory_mib, figure);
    }
    const double factor = FactorOf(adaptation, target, macs, figure.value);
    ScaleCompanions(target, factor, prediction);
    figure.value *= factor;
    Scale(figure.interval, factor);
    figure.interval = AdaptedInterval(figure, *adapted);
    WarnOfOtherSource(*adapted, target, figure);
    figure.source.method +=
        fmt::format(", adapted by {} of {}", Counted(adapted->rows, "row"),
                    adaptation.device);
  }
}

}  // namespace foretell
