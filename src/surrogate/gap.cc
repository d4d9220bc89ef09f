#include "src/surrogate/gap.h"

#include <algorithm>
#include <numeric>

#include "src/core/statistics.h"
#include "src/surrogate/polynomial.h"

namespace foretell::surrogate {
namespace {

/// Runs and estimates, one row per point.
struct GapPoints {
  Table measured;
  Eigen::VectorXd estimated;
};

/// Runs of the same point as one, at their means: a run that is left out must
/// not be predicted by its own repetition.
GapPoints MeanOfRepeats(const Table& measured,
                        const Eigen::VectorXd& estimated) {
  const std::vector<Eigen::Index> firsts = FirstRowsOfPoints(measured.inputs);
  GapPoints points{TakeRows(measured, firsts), estimated(firsts)};
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    std::vector<Eigen::Index> same;
    for (Eigen::Index row = firsts[i]; row < measured.rows(); ++row) {
      if (measured.inputs.row(row) == measured.inputs.row(firsts[i])) {
        same.push_back(row);
      }
    }
    const auto at = static_cast<Eigen::Index>(i);
    points.measured.values[at] = measured.values(same).mean();
    points.estimated[at] = estimated(same).mean();
  }
  return points;
}

PowerSum FitRows(const Table& measured, const Eigen::VectorXd& estimated,
                 const std::vector<Eigen::Index>& rows) {
  Table gaps = TakeRows(measured, rows);
  const Eigen::VectorXd scale = gaps.values.cwiseAbs();
  gaps.values -= estimated(rows);
  return FitPolynomial(gaps, scale);
}

std::vector<double> Errors(const Eigen::VectorXd& predicted,
                           const Eigen::VectorXd& measured) {
  const Eigen::VectorXd errors =
      ((predicted - measured).array() / measured.array()).abs();
  return {errors.begin(), errors.end()};
}

/// Estimate and gap of every row, by a fit to the others.
Eigen::VectorXd LeftOut(const Table& measured,
                        const Eigen::VectorXd& estimated) {
  Eigen::VectorXd predicted = estimated;
  for (Eigen::Index row = 0; row < measured.rows(); ++row) {
    std::vector<Eigen::Index> others;
    for (Eigen::Index i = 0; i < measured.rows(); ++i) {
      if (i != row) others.push_back(i);
    }
    predicted[row] += FitRows(measured, estimated, others)
                          .Predict(measured.inputs.row(row))[0];
  }
  return predicted;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

}  // namespace

std::vector<Eigen::Index> FirstRowsOfPoints(const Eigen::MatrixXd& inputs) {
  std::vector<Eigen::Index> firsts;
  for (Eigen::Index row = 0; row < inputs.rows(); ++row) {
    const bool is_new = std::ranges::none_of(firsts, [&](Eigen::Index first) {
      return inputs.row(row) == inputs.row(first);
    });
    if (is_new) firsts.push_back(row);
  }
  return firsts;
}

GapFit FitGap(const Table& runs, const Eigen::VectorXd& estimates) {
  const auto [measured, estimated] = MeanOfRepeats(runs, estimates);
  std::vector<Eigen::Index> all(static_cast<std::size_t>(measured.rows()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<double> before = Errors(estimated, measured.values);
  const std::vector<double> after =
      Errors(LeftOut(measured, estimated), measured.values);
  return {.gap = FitRows(measured, estimated, all),
          .before = Mean(before),
          .before_median = MiddleOf(before).median,
          .after = Mean(after),
          .after_median = MiddleOf(after).median,
          .after_largest = std::ranges::max(after)};
}

double MeanErrorWith(const PowerSum& gap, const Table& measured,
                     const Eigen::VectorXd& estimated) {
  return MeanError(estimated + gap.Predict(measured.inputs), measured.values);
}

}  // namespace foretell::surrogate
