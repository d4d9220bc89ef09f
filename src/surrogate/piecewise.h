#pragma once

#include "src/surrogate/bent_sum.h"
#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// Few products of inputs and bends of such products, by the least squares of
/// relative errors. They are chosen one at a time, always the one that reduces
/// the squares most (J. H. Friedman, Multivariate adaptive regression splines,
/// 1991, with hinges of products instead of products of hinges): memory is the
/// maximum of a few sums, each with its own rate per voxel.
///
/// Keeps the fewest of up to twelve terms whose expected error on other rows is
/// close to the best: the leave-one-out error or, if larger, Akaike's final
/// prediction error, in which a bend counts twice. The same table gives the
/// same function.
BentSum FitPiecewise(const Table& table);

}  // namespace foretell::surrogate
