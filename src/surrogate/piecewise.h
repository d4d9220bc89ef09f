#pragma once

#include "src/surrogate/bent_sum.h"
#include "src/surrogate/table.h"

namespace foretell::surrogate {

/// Few products of inputs and bends of such products, by the least squares of
/// relative errors. They are taken one at a time, always the one that lessens
/// the squares most (J. H. Friedman, Multivariate adaptive regression splines,
/// 1991, with hinges of products in the place of products of hinges): memory
/// is the largest of a few sums, each with a rate of its own per voxel.
///
/// Of up to twelve terms as few are kept as are to be expected nearly as good
/// on other rows as any: by the error of rows left out one at a time, or
/// Akaike's final prediction error, to which a bend counts twice, where that is
/// larger. The same table gives the same function.
BentSum FitPiecewise(const Table& table);

}  // namespace foretell::surrogate
