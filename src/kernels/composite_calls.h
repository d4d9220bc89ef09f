#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/kernels/composite_steps.h"

/// ATen calls whose shapes follow from their operands, for the writers of
/// composites.
namespace foretell::cost {

/// Element by element; the result broadcasts all operands, and has the order of
/// dimensions of the first that is as large.
ValueId Elementwise(CompositeSteps& steps, std::string target,
                    std::vector<ValueId> operands);
/// Over `dims`, which are kept with size 1 or dropped; all when empty.
ValueId Reduce(CompositeSteps& steps, std::string target, ValueId operand,
               std::vector<std::int64_t> dims = {}, bool keep = false);
/// `mean` or `sum`, by the attribute `reduction` (0: none, 1: mean, 2: sum) of
/// the composite.
ValueId ReduceLoss(CompositeSteps& steps, ValueId loss);

/// [..., k] with a weight [n, k] and perhaps a bias [n].
ValueId Linear(CompositeSteps& steps, ValueId input, ValueId weight,
               std::optional<ValueId> bias = {});
/// [..., m, k] by [..., k, n]; both of one rank, or the second a matrix.
ValueId Product(CompositeSteps& steps, std::string target, ValueId left,
                ValueId right);

ValueId Reshape(CompositeSteps& steps, ValueId operand, Shape shape);
/// Repeats a vector for all rows of `shape`.
ValueId ExpandRows(CompositeSteps& steps, ValueId operand, Shape shape);
ValueId Permute(CompositeSteps& steps, ValueId operand,
                const std::vector<std::int64_t>& dims);
/// Swaps two dimensions, negative ones counted from the end.
ValueId Transpose(CompositeSteps& steps, ValueId operand, std::int64_t dim0,
                  std::int64_t dim1);
/// The part of `operand` that has `size` along `dim`.
ValueId Slice(CompositeSteps& steps, ValueId operand, std::int64_t dim,
              std::int64_t size);
/// One index of the first dimension.
ValueId Select(CompositeSteps& steps, ValueId operand);

}  // namespace foretell::cost
