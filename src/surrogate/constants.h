#pragma once

#include "src/surrogate/expression.h"

namespace foretell::surrogate {

/// Fits the constants of an expression to `values` [rows] by Levenberg and
/// Marquardt's method (Eigen's port of MINPACK), least squares of the relative
/// errors, from their present values. Stops after some ten evaluations: the
/// next generation goes on from there. Leaves the expression alone if it has no
/// constants, more of them than rows, or if the fit does not end in numbers.
void FitConstants(Expression& expression, Evaluator& evaluator,
                  const Eigen::VectorXd& values);

}  // namespace foretell::surrogate
