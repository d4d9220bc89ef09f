#include "src/plan/explore.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <optional>

#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/plan/fit_footprint.h"
#include "src/surrogate/table.h"

namespace foretell::plan {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr int kCandidates = 400;
constexpr std::size_t kFewestRuns = 4;
/// Blocks that are planned are longer than those that are run: a candidate is
/// as doubtful as one of its proportions this many times as long.
constexpr double kBeyond = 4;
/// Coefficients are rounded as long as no run moves by more than this share.
constexpr double kRounding = 1e-4;
/// Failed runs in the beginning after which no other will end well.
constexpr int kMostHopeless = 3;

/// Blocks that may be run; those that were are removed.
class Candidates {
 public:
  Candidates(const std::vector<surrogate::Axis>& axes, std::uint64_t seed)
      : points_(DrawPoints(axes, kCandidates, /*with_corners=*/true, seed)) {}

  bool empty() const { return points_.rows() == 0; }
  const Eigen::MatrixXd& points() const { return points_; }

  /// Removes all that have at least as many elements.
  void DropFrom(double elements) {
    const Eigen::VectorXd counts = points_.rowwise().prod();
    std::vector<Eigen::Index> rest;
    for (Eigen::Index i = 0; i < points_.rows(); ++i) {
      if (counts[i] < elements) rest.push_back(i);
    }
    points_ = points_(rest, Eigen::all).eval();
  }

  Shape Take(Eigen::Index row) {
    Shape shape;
    for (const double size : points_.row(row)) {
      shape.push_back(static_cast<std::int64_t>(size));
    }
    const Eigen::Index last = points_.rows() - 1;
    points_.row(row) = points_.row(last).eval();
    points_.conservativeResize(last, Eigen::NoChange);
    return shape;
  }

  /// The one whose number of elements is the `rank`-th of three: least, most,
  /// between.
  Eigen::Index First(int rank) const {
    const Eigen::VectorXd logs = points_.array().log().rowwise().sum();
    Eigen::Index at = 0;
    if (rank == 0) {
      logs.minCoeff(&at);
    } else if (rank == 1) {
      logs.maxCoeff(&at);
    } else {
      const double middle = (logs.minCoeff() + 2 * logs.maxCoeff()) / 3;
      (logs.array() - middle).abs().minCoeff(&at);
    }
    return at;
  }

 private:
  Eigen::MatrixXd points_;
};

surrogate::Table TableOf(const Footprint& footprint) {
  const auto rows = std::ssize(footprint.runs);
  surrogate::Table table{.columns = footprint.axes,
                         .target = "bytes",
                         .inputs = Eigen::MatrixXd(rows, footprint.axes.size()),
                         .values = Eigen::VectorXd(rows)};
  for (Eigen::Index i = 0; i < rows; ++i) {
    const FootprintRun& run = footprint.runs[static_cast<std::size_t>(i)];
    for (std::size_t j = 0; j < run.shape.size(); ++j) {
      table.inputs(i, static_cast<Eigen::Index>(j)) =
          static_cast<double>(run.shape[j]);
    }
    table.values[i] = static_cast<double>(run.peak_bytes);
  }
  return table;
}

double ElementsOf(const Shape& shape) {
  double elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<double>(size);
  return elements;
}

/// Runs one block into `footprint`; the first failure is kept in `first`. One
/// that is larger than all that ran was too large: the others as large are not
/// tried.
void RunBlock(const Shape& shape, const MeasureBlock& measure,
              Footprint& footprint, Candidates& candidates,
              std::optional<Error>& first) {
  try {
    footprint.runs.push_back({shape, measure(shape)});
    return;
  } catch (const Error& error) {
    if (!first) first = error;
    footprint.failed.push_back({shape, error.what()});
  }
  const double elements = ElementsOf(shape);
  const auto is_smaller = [elements](const FootprintRun& run) {
    return ElementsOf(run.shape) < elements;
  };
  if (!footprint.runs.empty() &&
      std::ranges::all_of(footprint.runs, is_smaller)) {
    candidates.DropFrom(elements);
  }
}

void SetTerms(Footprint& footprint) {
  const surrogate::Table table = TableOf(footprint);
  const FittedFootprint fitted = FitFootprint(table);
  const surrogate::PowerSum sum = fitted.bytes.Rounded(table.inputs, kRounding);
  for (const surrogate::Term& term : sum.terms()) {
    footprint.terms.push_back({term.coefficient, term.powers});
  }
  footprint.error = fitted.error;
  footprint.largest_error = fitted.largest_error;
}

/// The block to run next; empty if the ensemble agrees.
std::optional<Eigen::Index> NextOf(const ExploreOptions& options,
                                   const Footprint& footprint,
                                   const Candidates& candidates) {
  if (footprint.runs.size() < kFewestRuns - 1) {
    return candidates.First(
        static_cast<int>(footprint.runs.size() + footprint.failed.size()) % 3);
  }
  const Doubt doubt = MostDoubted(FitEnsemble(TableOf(footprint)),
                                  kBeyond * candidates.points());
  const std::size_t enough = kFewestRuns + footprint.axes.size();
  if (footprint.runs.size() >= enough &&
      doubt.spread <= options.wanted_spread) {
    return std::nullopt;
  }
  return doubt.candidate;
}

}  // namespace

Footprint ExploreFootprint(const ExploreOptions& options,
                           const MeasureBlock& measure) {
  if (options.runs < static_cast<int>(kFewestRuns)) {
    throw InvalidArgument("a footprint of {}, expected at least {}",
                          Counted(options.runs, "run"), kFewestRuns);
  }
  Footprint footprint;
  for (const surrogate::Axis& axis : options.axes) {
    footprint.axes.push_back(axis.name);
  }
  footprint.halo.assign(footprint.axes.size(), 0);
  Candidates candidates(options.axes, options.seed);
  std::optional<Error> first;
  for (int i = 0; i < options.runs && !candidates.empty(); ++i) {
    const std::optional<Eigen::Index> next =
        NextOf(options, footprint, candidates);
    if (!next) break;
    const Shape shape = candidates.Take(*next);
    if (options.on_run) options.on_run(i, shape);
    RunBlock(shape, measure, footprint, candidates, first);
    if (footprint.runs.empty() && i + 1 == kMostHopeless) break;
  }
  if (footprint.runs.size() < kFewestRuns) {
    if (first) throw *first;
    throw InvalidArgument("the axes have {}, expected at least {}",
                          Counted(footprint.runs.size(), "block"), kFewestRuns);
  }
  SetTerms(footprint);
  return footprint;
}

}  // namespace foretell::plan
