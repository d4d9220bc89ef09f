#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/trilinear.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Sums of products of three tensors (`_trilinear` in
// aten/src/ATen/native/Linear.cpp, 2.13): for every index of one dimension the
// first two are contracted, then their product with the third, and what comes
// of it is added to the result. `bilinear` calls it, and so do its gradients.

namespace foretell::cost {
namespace {

using Operands = std::array<ValueId, Trilinear::kOperands>;

bool Has(const std::vector<std::int64_t>& dims, std::int64_t dim) {
  return std::ranges::count(dims, dim) > 0;
}

/// A letter for each of `dims` except the unrolled one.
std::string Letters(const std::vector<std::int64_t>& dims,
                    std::int64_t unrolled) {
  std::string letters;
  for (const std::int64_t dim : dims) {
    if (dim != unrolled) letters += static_cast<char>('a' + dim);
  }
  return letters;
}

/// One index of the unrolled dimension, which is dropped.
ValueId PartOf(CompositeSteps& steps, ValueId operand,
               const std::vector<std::int64_t>& dims, std::int64_t unrolled) {
  const auto place = std::ranges::find(dims, unrolled);
  if (place == dims.end()) return operand;
  const ValueId slice = Slice(steps, operand, place - dims.begin(), 1);
  Shape shape = steps.ShapeOf(slice);
  shape.erase(shape.begin() + (place - dims.begin()));
  return steps.View("squeeze", slice, std::move(shape));
}

ValueId SumOf(CompositeSteps& steps, const Operands& operands,
              const Trilinear& how) {
  std::vector<std::int64_t> kept;
  Shape shape;
  for (std::int64_t dim = 0; dim < std::ssize(how.extents); ++dim) {
    if (Has(how.summed, dim)) continue;
    kept.push_back(dim);
    shape.push_back(how.extents[static_cast<std::size_t>(dim)]);
  }
  const ValueId sum = steps.Call("zeros", {}, shape);
  std::vector<ValueId> parts;
  std::string equation;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    parts.push_back(PartOf(steps, operands[i], how.dims[i], how.unrolled));
    equation += (i == 0 ? "" : ",") + Letters(how.dims[i], how.unrolled);
  }
  equation += "->" + Letters(kept, how.unrolled);
  const ValueId place = PartOf(steps, sum, kept, how.unrolled);
  steps.Repeat(how.extents[static_cast<std::size_t>(how.unrolled)]);
  const ValueId part =
      steps.Call("einsum", std::move(parts), steps.ShapeOf(place),
                 {{"equation", equation}});
  steps.InPlace("add_", {place, part});
  steps.Repeat(1);
  return sum;
}

bool WriteTrilinear(CompositeSteps& steps) {
  if (steps.num_operands() != Trilinear::kOperands) return false;
  Operands operands = {steps.Operand(0), steps.Operand(1), steps.Operand(2)};
  const auto how = ReadTrilinear(
      steps.node(), {steps.ShapeOf(operands[0]), steps.ShapeOf(operands[1]),
                     steps.ShapeOf(operands[2])});
  if (!how) return false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i] = Reshape(steps, operands[i], how->shapes[i]);
  }
  steps.Return(SumOf(steps, operands, *how));
  return true;
}

constexpr Composite kTrilinearComposites[] = {
    {"_trilinear", &WriteTrilinear},
};

}  // namespace

std::span<const Composite> TrilinearComposites() {
  return kTrilinearComposites;
}

}  // namespace foretell::cost
