#include "src/predict/fit_adaptation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/statistics.h"
#include "src/predict/two_factors.h"

// Correction of predictions by a few rows of one machine.
//
//   latency = L(host) * exp(level + exponent * log(rate / reference))
//   memory  = M + constant
//   energy  = E(host) * latency's factor * exp(level of energy)
//
// L(host) is what is predicted where the CPU takes `host` times as long: it
// moves rows that wait for the CPU and no others, which is what tells a slow
// host from a slow GPU. All parameters are drawn to "no correction", with the
// standard deviations below, and outliers weigh little: five rows then do not
// chase their own scatter. Rejected: plain least squares, which made two of
// four GPUs worse (docs/accuracy.md, "one factor"), and a factor per operator
// kind, of which five rows know nothing.

namespace foretell {
namespace {

constexpr int kOctaves = 2;  ///< To each side of 1.
constexpr int kStepsPerOctave = 4;
constexpr int kSearchSteps = 30;
constexpr double kGoldenShare = 0.381966;
/// log(2) / 1.645: in 90 % of cases hosts, and the power model, which is a
/// prior, are within a factor of two.
constexpr double kHostDeviation = 0.42;
constexpr double kEnergyDeviation = 0.42;
/// Software decides on the size of a context: today's is some hundred MiB, that
/// of old libraries 1,750.
constexpr double kContextDeviationMib = 400;
constexpr double kMemoryDeviationMib = 20;
constexpr double kMemoryDeviationShare = 0.03;
constexpr double kEnergyRowDeviation = 0.08;
/// Fewest parts that are left out in turn for an interval of 90 %: with fewer,
/// not even the largest of their errors holds so many.
constexpr std::size_t kFewestForInterval = 9;
constexpr double kCoverage = 0.9;
constexpr std::size_t kFewestNetworks = 3;
/// Rates that are closer together tell nothing about the exponent.
constexpr double kNarrowRates = 1.5;

using Rows = std::vector<const PredictedRow*>;

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

const std::optional<double>& Measured(const PredictedRow& row, Target target) {
  return row.measured[static_cast<std::size_t>(target)];
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

double MisfitAt(const Rows& rows, double log_host) {
  const std::vector<FactorPoint> points = PointsAt(rows, log_host);
  const double deviations = log_host / kHostDeviation;
  return MisfitOf(points, FitLevelAndExponent(points)) +
         deviations * deviations / 2;
}

/// The host that makes the misfit least: the best of the grid, then between its
/// neighbours by golden section.
double FindLogHost(const Rows& rows) {
  const double step = std::log(2.0) / kStepsPerOctave;
  double best = 0;
  double least = MisfitAt(rows, 0);
  for (const double host : HostFactors()) {
    const double misfit = MisfitAt(rows, std::log(host));
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
    const bool is_left = MisfitAt(rows, left) <= MisfitAt(rows, right);
    (is_left ? hi : lo) = is_left ? right : left;
  }
  const double middle = (lo + hi) / 2;
  return MisfitAt(rows, middle) < least ? middle : best;
}

void FitLatency(const Rows& rows, Adaptation& adaptation) {
  const double log_host = FindLogHost(rows);
  const LevelAndExponent fit = FitLevelAndExponent(PointsAt(rows, log_host));
  adaptation.host_factor = std::exp(log_host);
  adaptation.level = fit.level;
  adaptation.exponent = fit.exponent;
  adaptation.reference_rate = std::exp(MeanLogRate(rows, log_host));
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -lowest;
  for (const PredictedRow* row : rows) {
    lowest = std::min(lowest, LogRate(*row, log_host));
    highest = std::max(highest, LogRate(*row, log_host));
  }
  adaptation.lowest_rate = std::exp(lowest);
  adaptation.highest_rate = std::exp(highest);
}

/// A figure of a row once it is adapted.
double Adapted(const Adaptation& adaptation, const PredictedRow& row,
               Target target) {
  if (target == Target::kMemory) {
    return row.memory_mib + adaptation.memory_mib;
  }
  const double log_host = std::log(adaptation.host_factor);
  const double latency = AtHost(row.latency_ms, log_host);
  const double factor = adaptation.LatencyFactor(row.macs, latency);
  if (target == Target::kLatency) return latency * factor;
  return AtHost(row.energy_j, log_host) * (row.energy_follows ? factor : 1) *
         std::exp(adaptation.energy_level);
}

void FitMemory(const Rows& rows, Adaptation& adaptation) {
  std::vector<LevelPoint> points;
  for (const PredictedRow* row : rows) {
    points.push_back(
        {.value = *Measured(*row, Target::kMemory) - row->memory_mib,
         .deviation = std::hypot(kMemoryDeviationMib,
                                 kMemoryDeviationShare * row->memory_mib)});
  }
  adaptation.memory_mib = FitLevel(points, kContextDeviationMib);
}

void FitEnergy(const Rows& rows, Adaptation& adaptation) {
  std::vector<LevelPoint> points;
  for (const PredictedRow* row : rows) {
    points.push_back(
        {.value = std::log(*Measured(*row, Target::kEnergy) /
                           Adapted(adaptation, *row, Target::kEnergy)),
         .deviation = kEnergyRowDeviation});
  }
  adaptation.energy_level = FitLevel(points, kEnergyDeviation);
}

/// Those of `rows` that have the figure.
Rows With(Target target, const Rows& rows) {
  Rows found;
  std::ranges::copy_if(rows, std::back_inserter(found),
                       [target](const PredictedRow* row) {
                         return Measured(*row, target).has_value();
                       });
  return found;
}

/// The fits in the order in which they build on one another.
struct TargetFit {
  Target target;
  void (*fit)(const Rows& rows, Adaptation& adaptation);
};
constexpr TargetFit kFits[] = {{Target::kMemory, &FitMemory},
                               {Target::kLatency, &FitLatency},
                               {Target::kEnergy, &FitEnergy}};

Adaptation FitRows(const Rows& rows, std::span<const Target> targets,
                   const Adaptation& about) {
  Adaptation adaptation = about;
  for (const TargetFit& one : kFits) {
    if (std::ranges::find(targets, one.target) == targets.end()) continue;
    const Rows some = With(one.target, rows);
    if (!some.empty()) one.fit(some, adaptation);
  }
  return adaptation;
}

/// Names of the parts that are left out in turn, one per row.
std::vector<std::string> PartsOf(const Rows& rows) {
  std::set<std::string> networks;
  for (const PredictedRow* row : rows) networks.insert(row->network);
  std::vector<std::string> parts;
  for (const PredictedRow* row : rows) {
    parts.push_back(networks.size() < kFewestNetworks
                        ? fmt::format("{}", parts.size())
                        : row->network);
  }
  return parts;
}

RowErrors ErrorsOf(const std::vector<double>& residuals) {
  std::vector<double> absolute;
  double sum = 0;
  for (const double residual : residuals) {
    absolute.push_back(std::abs(std::expm1(residual)));
    sum += absolute.back();
  }
  std::ranges::sort(absolute);
  return {.median = Quantile(absolute, 0.5),
          .mean = sum / static_cast<double>(absolute.size())};
}

/// Logarithms of predicted over measured figures.
struct Residuals {
  std::vector<double> before;
  std::vector<double> after;  ///< Of rows that were left out of the fit.
};

Residuals LeaveOut(const Rows& rows, Target target,
                   std::span<const Target> targets, const Adaptation& about) {
  const std::vector<std::string> parts = PartsOf(rows);
  Residuals residuals;
  for (const std::string& part : std::set(parts.begin(), parts.end())) {
    Rows rest;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (parts[i] != part) rest.push_back(rows[i]);
    }
    const Adaptation fit = FitRows(rest, targets, about);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (parts[i] != part) continue;
      const double truth = *Measured(*rows[i], target);
      const auto residual = [&](const Adaptation& by) {
        // A constant may be larger than a small prediction.
        const double tiny = truth * 1e-3;
        return std::log(std::max(tiny, Adapted(by, *rows[i], target)) / truth);
      };
      residuals.before.push_back(residual(about));
      residuals.after.push_back(residual(fit));
    }
  }
  return residuals;
}

AdaptedFigure Judge(const Rows& rows, Target target,
                    std::span<const Target> targets, const Adaptation& about) {
  const Residuals residuals = LeaveOut(rows, target, targets, about);
  AdaptedFigure figure{.rows = static_cast<int>(rows.size()),
                       .before = ErrorsOf(residuals.before),
                       .after = ErrorsOf(residuals.after)};
  std::vector<double> widths;
  for (const double one : residuals.after) widths.push_back(std::abs(one));
  std::ranges::sort(widths);
  figure.largest_residual = widths.back();
  const std::vector<std::string> parts = PartsOf(rows);
  if (std::set(parts.begin(), parts.end()).size() >= kFewestForInterval) {
    const double count = static_cast<double>(widths.size());
    const double rank = std::ceil(kCoverage * (count + 1));
    figure.half_width = widths[static_cast<std::size_t>(rank) - 1];
  }
  std::set<std::string> methods;
  for (const PredictedRow* row : rows) {
    methods.insert(row->methods[static_cast<std::size_t>(target)]);
  }
  figure.corrects.assign(methods.begin(), methods.end());
  return figure;
}

void RequireRows(const Rows& rows, Target target) {
  if (rows.size() >= kFewestRows) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} rows have {}, expected at least {}", rows.size(),
                          TargetField(target), kFewestRows));
}

void WarnOfAlikeRows(const Rows& rows, AdaptationFit& fit) {
  const Adaptation& found = fit.adaptation;
  if (found.networks == 1) {
    fit.warnings.push_back(
        fmt::format("all rows are of {}: they say nothing about other "
                    "networks",
                    rows.front()->network));
  } else if (found.networks < static_cast<int>(kFewestNetworks)) {
    fit.warnings.push_back(fmt::format(
        "the rows are of {} networks only, which are not left out as a whole: "
        "the errors are those of other batch sizes",
        found.networks));
  }
  if (found[Target::kLatency] &&
      found.highest_rate < kNarrowRates * found.lowest_rate) {
    fit.warnings.push_back(fmt::format(
        "all rows multiply at nearly the same rate ({} to {} GMAC/s): no "
        "exponent can be told; add networks that compute more, or less, for "
        "the memory that they move",
        FormatShort(found.lowest_rate / 1e6),
        FormatShort(found.highest_rate / 1e6)));
  }
}

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

AdaptationFit FitAdaptation(std::span<const PredictedRow> rows,
                            std::span<const Target> targets,
                            const Adaptation& about) {
  Rows all;
  std::set<std::string> networks;
  for (const PredictedRow& row : rows) {
    all.push_back(&row);
    networks.insert(row.network);
  }
  for (const Target target : targets) RequireRows(With(target, all), target);
  AdaptationFit fit{.adaptation = FitRows(all, targets, about)};
  fit.adaptation.rows = static_cast<int>(rows.size());
  fit.adaptation.networks = static_cast<int>(networks.size());
  for (const Target target : targets) {
    const AdaptedFigure figure =
        Judge(With(target, all), target, targets, about);
    if (figure.after.mean > figure.before.mean) fit.worse.push_back(target);
    fit.adaptation[target] = figure;
  }
  WarnOfAlikeRows(all, fit);
  return fit;
}

}  // namespace foretell
