#pragma once

#include "src/surrogate/power_sum.h"
#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// What an estimate lacks, as a polynomial of the factors of an experiment:
/// measured - estimated, by the least squares of shares of what was measured
/// (Liu et al., testing-based estimation).
struct GapFit {
  PowerSum gap;
  double before = 0;  ///< Mean error of the estimates, share of 1.
  double before_median = 0;
  /// Mean error of estimate plus gap on rows that were left out one at a time,
  /// each with a fit of its own.
  double after = 0;
  double after_median = 0;
  double after_largest = 0;  ///< Largest of the same errors.
};

/// The first row of each point among `inputs` [rows, columns], in their order.
std::vector<Eigen::Index> FirstRowsOfPoints(const Eigen::MatrixXd& inputs);

/// Fits the gap. `runs` has the factors and what was measured; `estimates`
/// [rows] is what was estimated of the same rows. Runs of one point are one
/// row, at their means. Requires two points.
GapFit FitGap(const Table& runs, const Eigen::VectorXd& estimates);

/// Error of estimates and a gap on other rows, as in FitGap.
double MeanErrorWith(const PowerSum& gap, const Table& measured,
                     const Eigen::VectorXd& estimated);

}  // namespace foretell::surrogate
