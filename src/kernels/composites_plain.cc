#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

namespace foretell::cost {
namespace {

/// A kernel per dimension, inside of one operator
/// (aten/src/ATen/native/cuda/TensorTransformations.cu, 2.13).
bool Roll(CompositeSteps& steps) {
  const std::vector<std::int64_t> dims = steps.node().Ints("dims", {});
  if (steps.num_operands() < 1 || dims.size() < 2) return false;
  ValueId x = steps.Operand(0);
  for (const std::int64_t dim : dims) {
    x = steps.Call("roll", {x}, steps.ShapeOf(x),
                   {{"dims", std::vector<std::int64_t>{dim}}});
  }
  steps.Return(x);
  return true;
}

constexpr Composite kPlainComposites[] = {
    {"roll", &Roll},
};

}  // namespace

std::span<const Composite> PlainComposites() { return kPlainComposites; }

}  // namespace foretell::cost
