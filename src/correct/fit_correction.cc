#include "src/correct/fit_correction.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/statistics.h"
#include "src/correct/fit_rows.h"

namespace foretell {
namespace {

/// Fewest parts that are left out in turn for an interval of 90 %: with fewer,
/// not even the largest of their errors holds so many.
constexpr std::size_t kFewestForInterval = 9;
constexpr double kCoverage = 0.9;
constexpr std::size_t kFewestNetworks = 3;
/// Rates that are closer together show nothing about the exponent.
constexpr double kNarrowRates = 1.5;

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

double ResidualOf(const CorrectionTerms& terms, const PredictedRow& row,
                  Target target) {
  const double truth = *Measured(row, target);
  // A constant may be larger than a small prediction.
  const double tiny = truth * 1e-3;
  return std::log(std::max(tiny, Corrected(terms, row, target)) / truth);
}

Residuals LeaveOut(const Rows& rows, Target target,
                   std::span<const Target> targets,
                   const CorrectionTerms& start) {
  const std::vector<std::string> parts = PartsOf(rows);
  Residuals residuals;
  for (const std::string& part : std::set(parts.begin(), parts.end())) {
    Rows rest;
    Rows left_out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      (parts[i] == part ? left_out : rest).push_back(rows[i]);
    }
    const CorrectionTerms fit = FitRows(rest, targets, start);
    for (const PredictedRow* row : left_out) {
      residuals.before.push_back(ResidualOf(start, *row, target));
      residuals.after.push_back(ResidualOf(fit, *row, target));
    }
  }
  return residuals;
}

CorrectedFigure Judge(const Rows& rows, Target target,
                      std::span<const Target> targets,
                      const CorrectionTerms& start) {
  const Residuals residuals = LeaveOut(rows, target, targets, start);
  CorrectedFigure figure{.rows = static_cast<int>(rows.size()),
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
  throw InvalidArgument("{} with {}, expected at least {}",
                        Counted(rows.size(), "row"), TargetField(target),
                        kFewestRows);
}

void WarnOfAlikeRows(const Rows& rows, CorrectionFit& fit) {
  const Correction& found = fit.correction;
  if (found.networks == 1) {
    fit.warnings.push_back(
        fmt::format("all rows are of {}: they say nothing about other "
                    "networks",
                    rows.front()->network));
  } else if (found.networks < static_cast<int>(kFewestNetworks)) {
    fit.warnings.push_back(
        fmt::format("the rows are of {} only, which are not left out as a "
                    "whole: the errors are those of other batch sizes",
                    Counted(found.networks, "network")));
  }
  if (found[Target::kLatency] &&
      found.terms.highest_rate < kNarrowRates * found.terms.lowest_rate) {
    fit.warnings.push_back(fmt::format(
        "all rows multiply at nearly the same rate ({} to {} GMAC/s): no "
        "exponent can be told; add networks that compute more, or less, for "
        "the memory that they move",
        FormatShort(found.terms.lowest_rate / 1e6),
        FormatShort(found.terms.highest_rate / 1e6)));
  }
}

}  // namespace

CorrectionFit FitCorrection(std::span<const PredictedRow> rows,
                            std::span<const Target> targets,
                            const Correction& about) {
  Rows all;
  std::set<std::string> networks;
  for (const PredictedRow& row : rows) {
    all.push_back(&row);
    networks.insert(row.network);
  }
  for (const Target target : targets) RequireRows(With(target, all), target);
  CorrectionFit fit{.correction = about};
  fit.correction.terms = FitRows(all, targets, about.terms);
  fit.correction.rows = static_cast<int>(rows.size());
  fit.correction.networks = static_cast<int>(networks.size());
  for (const Target target : targets) {
    const CorrectedFigure figure =
        Judge(With(target, all), target, targets, about.terms);
    if (figure.after.mean > figure.before.mean) fit.worse.push_back(target);
    fit.correction[target] = figure;
  }
  WarnOfAlikeRows(all, fit);
  return fit;
}

}  // namespace foretell
