#pragma once

#include "src/surrogate/power_sum.h"
#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// Correction of an estimate as a polynomial of the factors of an experiment:
/// measured - estimated, by least squares relative to the measurements (Liu et
/// al., testing-based estimation).
struct GapFit {
  PowerSum gap;
  double before = 0;  ///< Mean error of the estimates, share of 1.
  double before_median = 0;
  /// Mean leave-one-out error of estimate plus gap.
  double after = 0;
  double after_median = 0;
  double after_largest = 0;  ///< Largest of the same errors.
};

/// The first row of each point among `inputs` [rows, columns], in their order.
std::vector<Eigen::Index> FirstRowsOfPoints(const Eigen::MatrixXd& inputs);

/// Fits the gap. `runs` has the factors and measurements, `estimates` [rows]
/// the estimates of the same rows. Runs of one point are averaged into one row.
/// Requires two points.
GapFit FitGap(const Table& runs, const Eigen::VectorXd& estimates);

/// Error of estimates and a gap on other rows, as in FitGap.
double MeanErrorWith(const PowerSum& gap, const Table& measured,
                     const Eigen::VectorXd& estimated);

}  // namespace foretell::surrogate
