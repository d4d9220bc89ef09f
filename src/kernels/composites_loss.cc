#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Losses that call others inside of a kernel, where no trace sees it
// (aten/src/ATen/native/Loss.cpp, 2.13): a kernel of their own writes every
// element, and what they return is reduced from it.

namespace foretell::cost {
namespace {

/// Reduced into the tensor that held the elements.
ValueId CopyReduced(CompositeSteps& steps, ValueId loss) {
  const ValueId reduced = ReduceLoss(steps, loss);
  if (reduced == loss) return loss;
  return steps.Call("clone", {reduced}, steps.ShapeOf(reduced));
}

/// One element-wise kernel of the operator's own, then the reduction. Without
/// one the operator is that kernel.
bool ElementwiseThenReduced(CompositeSteps& steps) {
  if (!steps.TakesTwo() || steps.node().Int("reduction", 1) == 0) return false;
  const ValueId loss =
      Elementwise(steps, "sub", {steps.Operand(0), steps.Operand(1)});
  steps.Return(ReduceLoss(steps, loss));
  return true;
}

/// Weights come after; the kernel of the operator itself is element-wise.
bool BinaryCrossEntropy(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const bool is_plain =
      steps.num_operands() == 2 && steps.node().Int("reduction", 1) == 0;
  if (is_plain) return false;
  ValueId loss =
      Elementwise(steps, "sub", {steps.Operand(0), steps.Operand(1)});
  if (steps.num_operands() > 2) {
    loss = steps.InPlace("mul_", {loss, steps.Operand(2)});
  }
  steps.Return(CopyReduced(steps, loss));
  return true;
}

constexpr Composite kLossComposites[] = {
    {"binary_cross_entropy", &BinaryCrossEntropy},
    {"huber_loss", &ElementwiseThenReduced},
    {"mse_loss", &ElementwiseThenReduced},
    {"smooth_l1_loss", &ElementwiseThenReduced},
};

}  // namespace

std::span<const Composite> LossComposites() { return kLossComposites; }

}  // namespace foretell::cost
