#include "src/kernels/composite_calls.h"

#include <algorithm>
#include <utility>

namespace foretell::cost {
namespace {

std::size_t FromFront(std::int64_t dim, std::size_t rank) {
  return static_cast<std::size_t>(
      dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim);
}

}  // namespace

ValueId SumOfRows(CompositeSteps& steps, ValueId operand) {
  return steps.Call("sum", {operand}, {steps.Size(operand, 1)},
                    {{"dim", std::vector<std::int64_t>{0}}});
}

ValueId Linear(CompositeSteps& steps, ValueId input, ValueId weight) {
  Shape shape = steps.ShapeOf(input);
  if (!shape.empty()) shape.back() = steps.Size(weight, 0);
  return steps.Call("linear", {input, weight}, std::move(shape));
}

ValueId Product(CompositeSteps& steps, std::string target, ValueId left,
                ValueId right) {
  Shape shape = steps.ShapeOf(left);
  if (!shape.empty()) shape.back() = steps.Size(right, -1);
  return steps.Call(std::move(target), {left, right}, std::move(shape));
}

ValueId Transpose(CompositeSteps& steps, ValueId operand, std::int64_t dim0,
                  std::int64_t dim1) {
  Shape shape = steps.ShapeOf(operand);
  Strides strides = steps.StridesOf(operand);
  const std::size_t first = FromFront(dim0, shape.size());
  const std::size_t second = FromFront(dim1, shape.size());
  if (std::max(first, second) >= shape.size()) return operand;
  std::swap(shape[first], shape[second]);
  std::swap(strides[first], strides[second]);
  return steps.View("transpose", operand, std::move(shape), std::move(strides));
}

}  // namespace foretell::cost
