#pragma once

#include "src/surrogate/bent_sum.h"
#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// Few products of inputs and bends of such products, by the least squares of
/// relative errors. They are chosen one at a time, always the one that reduces
/// the squares most (J. H. Friedman, Multivariate adaptive regression splines,
/// 1991, with hinges of products instead of products of hinges): memory is the
/// largest of a few sums, each with a rate of its own per voxel.
///
/// Of up to twelve terms the fewest are kept that should be nearly as good on
/// other rows as any: by the error of rows left out one at a time, or Akaike's
/// final prediction error, to which a bend counts twice, if that is
/// larger. The same table gives the same function.
BentSum FitPiecewise(const Table& table);

}  // namespace foretell::surrogate
