#include "src/correct/apply_correction.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "foretell/features.h"
#include "src/core/numbers.h"
#include "src/core/text.h"
#include "src/correct/correction_scope.h"
#include "src/correct/scale_figure.h"
#include "src/correct/two_factors.h"

namespace foretell {
namespace {

/// By the rows alone if they are enough and the graph lies inside of them; else
/// wider if a row that was left out lay further away than the interval goes.
Interval CorrectedInterval(const Figure& figure,
                           const CorrectedFigure& corrected, bool is_inside) {
  const auto around = [&figure](double width) {
    return Interval{figure.value * std::exp(-width),
                    figure.value * std::exp(width)};
  };
  if (corrected.half_width && is_inside) return around(*corrected.half_width);
  const Interval rows = around(corrected.largest_residual);
  return {std::min(rows.lo, figure.interval.lo),
          std::max(rows.hi, figure.interval.hi)};
}

void WarnOfOtherSource(const CorrectedFigure& corrected, Target target,
                       Figure& figure) {
  const std::string& method = figure.source.method;
  if (std::ranges::count(corrected.corrects, method) > 0) return;
  figure.warnings.push_back(
      fmt::format("{}: adapted by rows whose figures were {}; this one is {}",
                  TargetName(target), Joined(corrected.corrects), method));
}

void WarnOfOtherRuns(const Correction& correction, const GapAt& gap,
                     Figure& memory) {
  if (!gap.outside.empty()) {
    memory.warnings.push_back(
        fmt::format("memory: {} lies outside of the runs of {}; calibrated by "
                    "the nearest",
                    Joined(gap.outside), correction.origin));
  }
  if (correction.scope.IsOfOneModel() && !correction.scope.step) {
    memory.warnings.push_back(
        fmt::format("memory: {} does not say at which other sizes its runs "
                    "were; calibrate again to have them compared",
                    correction.origin));
  }
}

double FactorOf(const CorrectionTerms& terms, Target target,
                const OperatorGraph& graph, double value) {
  if (target == Target::kLatency) {
    const auto macs = static_cast<double>(CountStaticFeatures(graph).macs);
    return terms.LatencyFactor(macs, value);
  }
  return target == Target::kEnergy ? std::exp(terms.energy_level) : 1;
}

/// A simulated memory has the gap already.
void PutMemory(const Correction& correction, const SimulatedMemory& simulated,
               Prediction& prediction) {
  Figure& memory = prediction[Target::kMemory];
  if (correction.scope.IsOfOneModel()) {
    memory = simulated.figure;
    prediction.cache_mib = simulated.cache_mib;
  } else if (memory.source.IsLearned()) {
    for (double* part :
         {&memory.value, &memory.interval.lo, &memory.interval.hi}) {
      *part += correction.terms.memory_mib;
    }
  }
}

std::string SourceOf(const CorrectionScope& scope, int rows) {
  return scope.IsOfOneModel() ? fmt::format(", calibrated by {} of {}",
                                            Counted(rows, "run"), scope.model)
                              : fmt::format(", adapted by {} of {}",
                                            Counted(rows, "row"), scope.device);
}

}  // namespace

double CorrectionTerms::LatencyFactor(double macs, double predicted_ms) const {
  const double rate =
      std::clamp(std::max(macs, 1.0) / predicted_ms, lowest_rate, highest_rate);
  return std::exp(LevelAndExponent{level, exponent}.LogFactor(
      std::log(rate / reference_rate)));
}

void ApplyCorrection(const Correction& correction, const OperatorGraph& graph,
                     const SimulatedMemory& simulated, Prediction& prediction) {
  const GapAt gap = GapOf(correction, graph);
  if (correction[Target::kMemory]) {
    PutMemory(correction, simulated, prediction);
    WarnOfOtherRuns(correction, gap, prediction[Target::kMemory]);
  }
  for (const Target target : kAllTargets) {  // Energy follows latency.
    const std::optional<CorrectedFigure>& corrected = correction[target];
    Figure& figure = prediction[target];
    if (!corrected || !(figure.value > 0)) continue;
    const double factor =
        FactorOf(correction.terms, target, graph, figure.value);
    ScaleCompanions(target, factor, prediction);
    figure.value *= factor;
    Scale(figure.interval, factor);
    figure.interval =
        CorrectedInterval(figure, *corrected, gap.outside.empty());
    WarnOfOtherSource(*corrected, target, figure);
    figure.source.method += SourceOf(correction.scope, corrected->rows);
  }
}

}  // namespace foretell
