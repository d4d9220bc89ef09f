#pragma once

#include <string>

#include "src/kernels/composite_steps.h"

/// ATen calls whose shapes follow from their operands, for the writers of
/// composites.
namespace foretell::cost {

/// [rows, n] to [n].
ValueId SumOfRows(CompositeSteps& steps, ValueId operand);

/// [..., k] with a weight [n, k].
ValueId Linear(CompositeSteps& steps, ValueId input, ValueId weight);
/// [..., m, k] by [..., k, n]; both of one rank, or the second a matrix.
ValueId Product(CompositeSteps& steps, std::string target, ValueId left,
                ValueId right);

/// Swaps two dimensions, negative ones counted from the end.
ValueId Transpose(CompositeSteps& steps, ValueId operand, std::int64_t dim0,
                  std::int64_t dim1);

}  // namespace foretell::cost
