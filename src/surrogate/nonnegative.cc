#include "src/surrogate/nonnegative.h"

#include <Eigen/QR>
#include <algorithm>
#include <limits>
#include <vector>

namespace foretell::surrogate {
namespace {

using Columns = std::vector<Eigen::Index>;

/// Least squares over some columns; the others are 0.
Eigen::VectorXd SolveOver(const Eigen::MatrixXd& a, const Eigen::VectorXd& b,
                          const Columns& columns) {
  const Eigen::MatrixXd part = a(Eigen::all, columns);
  const Eigen::VectorXd solution =
      part.completeOrthogonalDecomposition().solve(b);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(a.cols());
  x(columns) = solution;
  return x;
}

/// How far one may go from `x` to `aim` until the first column is 0.
double LongestStep(const Eigen::VectorXd& x, const Eigen::VectorXd& aim,
                   const Columns& columns) {
  double step = 1;
  for (const Eigen::Index i : columns) {
    if (aim[i] <= 0) step = std::min(step, x[i] / (x[i] - aim[i]));
  }
  return step;
}

}  // namespace

Eigen::VectorXd SolveNonNegative(const Eigen::MatrixXd& a,
                                 const Eigen::VectorXd& b) {
  const double tolerance = 1e-12 * (a.transpose() * b).cwiseAbs().maxCoeff();
  Eigen::VectorXd x = Eigen::VectorXd::Zero(a.cols());
  Columns free;
  for (Eigen::Index turn = 0; turn < 3 * a.cols(); ++turn) {
    Eigen::VectorXd gain = a.transpose() * (b - a * x);
    for (const Eigen::Index i : free) {
      gain[i] = -std::numeric_limits<double>::infinity();
    }
    Eigen::Index best = 0;
    if (gain.maxCoeff(&best) <= tolerance) break;
    free.push_back(best);
    while (!free.empty()) {
      const Eigen::VectorXd aim = SolveOver(a, b, free);
      if (aim(free).minCoeff() > 0) {
        x = aim;
        break;
      }
      x += LongestStep(x, aim, free) * (aim - x);
      std::erase_if(free, [&x](Eigen::Index i) { return x[i] <= 1e-15; });
      x = x.cwiseMax(0);
    }
  }
  return x;
}

}  // namespace foretell::surrogate
