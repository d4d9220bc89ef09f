#pragma once

#include "src/surrogate/expression.h"

namespace foretell::surrogate {

/// Fits the constants of an expression to `values` [rows] by Levenberg and
/// Marquardt's method (Eigen's port of MINPACK), least squares of the relative
/// errors, from their present values. Stops after about ten evaluations; the
/// next generation continues from there. Does not change an expression without
/// constants or with more constants than rows, or if the fit does not give
/// finite numbers.
void FitConstants(Expression& expression, Evaluator& evaluator,
                  const Eigen::VectorXd& values);

}  // namespace foretell::surrogate
