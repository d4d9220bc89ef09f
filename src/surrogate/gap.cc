#include "src/surrogate/gap.h"

#include <algorithm>
#include <numeric>

#include "src/core/statistics.h"
#include "src/surrogate/polynomial.h"

namespace foretell::surrogate {
namespace {

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

GapFit FitGap(const Table& measured, const Eigen::VectorXd& estimated) {
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
