#pragma once

#include <Eigen/Core>

namespace foretell::surrogate {

/// The x >= 0 of the least |a x - b|, by Lawson and Hanson's active sets
/// (Solving Least Squares Problems, 1974, chapter 23). Columns that do not help
/// get 0. `a` is [rows, columns].
Eigen::VectorXd SolveNonNegative(const Eigen::MatrixXd& a,
                                 const Eigen::VectorXd& b);

}  // namespace foretell::surrogate
