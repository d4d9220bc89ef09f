#pragma once

#include <vector>

#include "src/surrogate/power_sum.h"
#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// The highest degree of products that is tried.
inline constexpr int kHighestDegree = 4;

/// Powers of every product of `columns` inputs up to a degree, the constant
/// first.
std::vector<std::vector<int>> ProductsUpTo(Eigen::Index columns, int degree);
/// Their number: (columns + degree) over degree.
double CountProducts(Eigen::Index columns, int degree);

/// Sum of coefficients times inputs, and a constant, by least squares of the
/// relative errors: rows have weight 1 / value^2, because errors are relative.
/// If columns are dependent, the solution of least norm.
PowerSum FitLinear(const Table& table);

/// All products of inputs up to a degree, fitted in the same way with a ridge.
/// Degree (0 to 4) and ridge minimize the mean leave-one-out error (in closed
/// form); a degree above 1 with more products than half of the rows is not
/// tried.
PowerSum FitPolynomial(const Table& table);

/// As above, by the least squares of errors divided by `scale` [rows], above 0:
/// for values that may be 0.
PowerSum FitPolynomial(const Table& table, const Eigen::VectorXd& scale);

/// Given products of the inputs (their powers), each with a coefficient >= 0,
/// fitted in the same way: a non-decreasing function without the products that
/// do not help.
PowerSum FitNonNegative(const Table& table,
                        const std::vector<std::vector<int>>& products);

}  // namespace foretell::surrogate
