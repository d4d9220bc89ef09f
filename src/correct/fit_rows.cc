#include "src/correct/fit_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "src/correct/two_factors.h"

// Correction of predictions by a few rows of one machine.
//
//   latency = L(host) * exp(level + exponent * log(rate / reference))
//   memory  = M + constant
//   energy  = E(host) * latency's factor * exp(level of energy)
//
// L(host) is what is predicted if the CPU needs `host` times as long: it moves
// rows that wait for the CPU and no others, which distinguishes a slow host
// from a slow GPU. All parameters are drawn to "no correction", with the
// standard deviations below, and outliers weigh little: five rows then do not
// chase their own scatter. Rejected: one factor alone, which does not describe
// how the error grows with the rate (docs/accuracy.md), and a factor per
// operator kind, about which five rows show nothing.

namespace foretell {
namespace {

constexpr int kOctaves = 2;  ///< To each side of 1.
constexpr int kStepsPerOctave = 4;
constexpr int kSearchSteps = 30;
constexpr double kGoldenShare = 0.381966;
/// Standard deviations to the end of an interval of 90 %.
constexpr double kDeviationsOfInterval = 1.645;
/// log(2) / 1.645: in 90 % of cases the power model, which is a prior, is
/// within a factor of two.
constexpr double kEnergyDeviation = 0.42;
/// log(2) / 1.645: published hosts have factors from 0.46 to 1.59. What is
/// expected of a GPU's generation is no knowledge of one machine.
constexpr double kUnknownHostDeviation = 0.42;
/// No operator's CPU time is known better than this.
constexpr double kLeastHostDeviation = 0.05;
/// Software decides on the size of a context: today's is some hundred MiB, that
/// of old libraries 1,750.
constexpr double kContextDeviationMib = 400;
/// Scatter of a row, judgement: MiB and share of the memory, logarithm of the
/// energy.
constexpr double kMemoryDeviationMib = 20;
constexpr double kMemoryDeviationShare = 0.03;
constexpr double kEnergyRowDeviation = 0.08;

/// What `curve`, a number per host, is at a host between them.
double AtHost(const std::vector<double>& curve, double log_host) {
  const double place = (log_host / std::log(2.0) + kOctaves) * kStepsPerOctave;
  const double last = static_cast<double>(curve.size() - 1);
  const double held = std::clamp(place, 0.0, last);
  const auto below = static_cast<std::size_t>(held);
  const std::size_t above = std::min(below + 1, curve.size() - 1);
  const double share = held - static_cast<double>(below);
  return std::exp((1 - share) * std::log(curve[below]) +
                  share * std::log(curve[above]));
}

double LogRate(const PredictedRow& row, double log_host) {
  return std::log(std::max(row.macs, 1.0) / AtHost(row.latency_ms, log_host));
}

double MeanLogRate(const Rows& rows, double log_host) {
  double sum = 0;
  for (const PredictedRow* row : rows) sum += LogRate(*row, log_host);
  return sum / static_cast<double>(rows.size());
}

std::vector<FactorPoint> PointsAt(const Rows& rows, double log_host) {
  const double mean = MeanLogRate(rows, log_host);
  std::vector<FactorPoint> points;
  for (const PredictedRow* row : rows) {
    const double predicted = AtHost(row->latency_ms, log_host);
    points.push_back(
        {.log_ratio = std::log(*Measured(*row, Target::kLatency) / predicted),
         .log_rate = LogRate(*row, log_host) - mean});
  }
  return points;
}

/// How far the host may be from the one that predictions start from.
double HostDeviation(const HostSpec& start) {
  if (!start.IsNamed()) return kUnknownHostDeviation;
  return std::max(kLeastHostDeviation,
                  std::log(start.spread) / kDeviationsOfInterval);
}

double MisfitAt(const Rows& rows, double log_host, double host_deviation) {
  const std::vector<FactorPoint> points = PointsAt(rows, log_host);
  const double deviations = log_host / host_deviation;
  return MisfitOf(points, FitLevelAndExponent(points)) +
         deviations * deviations / 2;
}

/// The host that makes the misfit least, over the one that is started from: the
/// best of the grid, then between its neighbours by golden section.
double FindLogHost(const Rows& rows, const HostSpec& start) {
  const double deviation = HostDeviation(start);
  const double step = std::log(2.0) / kStepsPerOctave;
  double best = 0;
  double least = MisfitAt(rows, 0, deviation);
  for (const double host : HostFactors()) {
    const double misfit = MisfitAt(rows, std::log(host), deviation);
    if (misfit < least) {
      least = misfit;
      best = std::log(host);
    }
  }
  double lo = best - step;
  double hi = best + step;
  for (int i = 0; i < kSearchSteps; ++i) {
    const double left = lo + kGoldenShare * (hi - lo);
    const double right = hi - kGoldenShare * (hi - lo);
    const bool is_left =
        MisfitAt(rows, left, deviation) <= MisfitAt(rows, right, deviation);
    (is_left ? hi : lo) = is_left ? right : left;
  }
  const double middle = (lo + hi) / 2;
  return MisfitAt(rows, middle, deviation) < least ? middle : best;
}

void FitLatency(const Rows& rows, CorrectionTerms& terms) {
  const double log_host = FindLogHost(rows, terms.host);
  const LevelAndExponent fit = FitLevelAndExponent(PointsAt(rows, log_host));
  terms.host.factor *= std::exp(log_host);
  terms.level = fit.level;
  terms.exponent = fit.exponent;
  terms.reference_rate = std::exp(MeanLogRate(rows, log_host));
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -lowest;
  for (const PredictedRow* row : rows) {
    lowest = std::min(lowest, LogRate(*row, log_host));
    highest = std::max(highest, LogRate(*row, log_host));
  }
  terms.lowest_rate = std::exp(lowest);
  terms.highest_rate = std::exp(highest);
}

void FitMemory(const Rows& rows, CorrectionTerms& terms) {
  std::vector<LevelPoint> points;
  for (const PredictedRow* row : rows) {
    points.push_back(
        {.value = *Measured(*row, Target::kMemory) - row->memory_mib,
         .deviation = std::hypot(kMemoryDeviationMib,
                                 kMemoryDeviationShare * row->memory_mib)});
  }
  terms.memory_mib = FitLevel(points, kContextDeviationMib);
}

void FitEnergy(const Rows& rows, CorrectionTerms& terms) {
  std::vector<LevelPoint> points;
  for (const PredictedRow* row : rows) {
    points.push_back(
        {.value = std::log(*Measured(*row, Target::kEnergy) /
                           Corrected(terms, *row, Target::kEnergy)),
         .deviation = kEnergyRowDeviation});
  }
  terms.energy_level = FitLevel(points, kEnergyDeviation);
}

/// The fits in the order in which they build on one another.
struct TargetFit {
  Target target;
  void (*fit)(const Rows& rows, CorrectionTerms& terms);
};
constexpr TargetFit kFits[] = {{Target::kMemory, &FitMemory},
                               {Target::kLatency, &FitLatency},
                               {Target::kEnergy, &FitEnergy}};

}  // namespace

std::vector<double> HostFactors() {
  std::vector<double> factors;
  for (int i = -kOctaves * kStepsPerOctave; i <= kOctaves * kStepsPerOctave;
       ++i) {
    factors.push_back(std::exp2(static_cast<double>(i) / kStepsPerOctave));
  }
  return factors;
}

void PredictedRow::Add(const Prediction& prediction) {
  memory_mib = prediction[Target::kMemory].value;
  latency_ms.push_back(prediction[Target::kLatency].value);
  energy_j.push_back(prediction[Target::kEnergy].value);
  energy_follows = !prediction[Target::kEnergy].source.IsLearned();
  for (const Target target : kAllTargets) {
    methods[static_cast<std::size_t>(target)] =
        prediction[target].source.method;
  }
}

const std::optional<double>& Measured(const PredictedRow& row, Target target) {
  return row.measured[static_cast<std::size_t>(target)];
}

Rows With(Target target, const Rows& rows) {
  Rows found;
  std::ranges::copy_if(rows, std::back_inserter(found),
                       [target](const PredictedRow* row) {
                         return Measured(*row, target).has_value();
                       });
  return found;
}

double Corrected(const CorrectionTerms& terms, const PredictedRow& row,
                 Target target) {
  if (target == Target::kMemory) {
    return row.memory_mib + terms.memory_mib;
  }
  const double log_host = std::log(terms.host.factor / row.host_factor);
  const double latency = AtHost(row.latency_ms, log_host);
  const double factor = terms.LatencyFactor(row.macs, latency);
  if (target == Target::kLatency) return latency * factor;
  return AtHost(row.energy_j, log_host) * (row.energy_follows ? factor : 1) *
         std::exp(terms.energy_level);
}

CorrectionTerms FitRows(const Rows& rows, std::span<const Target> targets,
                        const CorrectionTerms& start) {
  CorrectionTerms terms = start;
  for (const TargetFit& one : kFits) {
    if (std::ranges::find(targets, one.target) == targets.end()) continue;
    const Rows some = With(one.target, rows);
    if (!some.empty()) one.fit(some, terms);
  }
  return terms;
}

}  // namespace foretell
