#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Products that launch several kernels inside of one operator, where no trace
// sees it (aten/src/ATen/native/LinearAlgebra.cpp, 2.13).

namespace foretell::cost {
namespace {

/// One product per matrix of the batch, each added to the result.
bool SumOfProducts(CompositeSteps& steps) {
  if (steps.num_operands() < 3) return false;
  const ValueId left = steps.Operand(1);
  const ValueId right = steps.Operand(2);
  if (steps.RankOf(left) != 3 || steps.RankOf(right) != 3) return false;
  const ValueId sum =
      steps.Call("clone", {steps.Operand(0)}, steps.result().shape);
  const ValueId first = Select(steps, left);
  const ValueId second = Select(steps, right);
  steps.Repeat(steps.Size(left, 0));
  steps.Return(steps.InPlace("addmm_", {sum, first, second}));
  steps.Repeat(1);
  return true;
}

/// A vector's elements by those of another, added to a matrix: one kernel that
/// broadcasts, no product of matrices.
bool AddedOuterProduct(CompositeSteps& steps) {
  if (steps.num_operands() != 3) return false;
  const ValueId left = steps.Operand(1);
  const ValueId right = steps.Operand(2);
  if (steps.RankOf(left) != 1 || steps.RankOf(right) != 1) return false;
  const ValueId column = Reshape(steps, left, {steps.Size(left, 0), 1});
  steps.Return(
      Elementwise(steps, "addcmul", {steps.Operand(0), column, right}));
  return true;
}

constexpr Composite kProductComposites[] = {
    {"addbmm", &SumOfProducts},
    {"addr", &AddedOuterProduct},
};

}  // namespace

std::span<const Composite> ProductComposites() { return kProductComposites; }

}  // namespace foretell::cost
