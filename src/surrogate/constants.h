#pragma once

#include "src/surrogate/expression.h"

namespace foretell::surrogate {

/// Fits the constants of an expression to `values` [rows] by Levenberg and
/// Marquardt's method (Eigen's port of MINPACK), least squares of the relative
/// errors, from where they stand. Stops after some ten evaluations: the next
/// generation goes on from there. Leaves the expression alone where it has no
/// constants, more of them than rows, or where the fit ends in no numbers.
void FitConstants(Expression& expression, Evaluator& evaluator,
                  const Eigen::VectorXd& values);

}  // namespace foretell::surrogate
