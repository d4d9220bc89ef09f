#include "src/kernels/composite_calls.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace foretell::cost {
namespace {

constexpr std::int64_t kMeanReduction = 1;

std::size_t FromFront(std::int64_t dim, std::size_t rank) {
  return static_cast<std::size_t>(
      dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim);
}

/// Shape that a broadcast of both has; where sizes do not fit, the larger.
Shape Broadcast(const Shape& left, const Shape& right) {
  Shape shape = left.size() < right.size() ? right : left;
  const Shape& other = left.size() < right.size() ? left : right;
  const std::size_t added = shape.size() - other.size();
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& size = shape[added + i];
    size =
        size == 1 || other[i] == 1 ? size * other[i] : std::max(size, other[i]);
  }
  return shape;
}

}  // namespace

ValueId Elementwise(CompositeSteps& steps, std::string target,
                    std::vector<ValueId> operands) {
  Shape shape;
  for (const ValueId id : operands) {
    shape = Broadcast(shape, steps.ShapeOf(id));
  }
  const auto like = std::ranges::find(
      operands, shape, [&](ValueId id) { return steps.ShapeOf(id); });
  Strides strides;
  if (like != operands.end()) {
    strides = DenseStridesLike(shape, steps.StridesOf(*like));
  }
  return steps.Call(std::move(target), std::move(operands), std::move(shape),
                    {}, std::move(strides));
}

ValueId Reduce(CompositeSteps& steps, std::string target, ValueId operand,
               std::vector<std::int64_t> dims, bool keep) {
  Shape shape = steps.ShapeOf(operand);
  if (dims.empty()) {
    dims.resize(shape.size());
    std::iota(dims.begin(), dims.end(), 0);
  }
  Attributes attributes = {{"dim", dims}, {"keepdim", keep}};
  for (std::int64_t& dim : dims)
    dim = static_cast<std::int64_t>(FromFront(dim, shape.size()));
  std::ranges::sort(dims, std::greater());
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim >= std::ssize(shape)) continue;
    if (keep) {
      shape[static_cast<std::size_t>(dim)] = 1;
    } else {
      shape.erase(shape.begin() + dim);
    }
  }
  return steps.Call(std::move(target), {operand}, std::move(shape),
                    std::move(attributes));
}

ValueId ReduceLoss(CompositeSteps& steps, ValueId loss) {
  const std::int64_t reduction = steps.node().Int("reduction", kMeanReduction);
  if (reduction == 0) return loss;
  return Reduce(steps, reduction == kMeanReduction ? "mean" : "sum", loss);
}

ValueId Linear(CompositeSteps& steps, ValueId input, ValueId weight,
               std::optional<ValueId> bias) {
  Shape shape = steps.ShapeOf(input);
  if (!shape.empty()) shape.back() = steps.Size(weight, 0);
  std::vector<ValueId> operands = {input, weight};
  if (bias) operands.push_back(*bias);
  return steps.Call("linear", std::move(operands), std::move(shape));
}

ValueId Product(CompositeSteps& steps, std::string target, ValueId left,
                ValueId right) {
  Shape shape = steps.ShapeOf(left);
  if (!shape.empty()) shape.back() = steps.Size(right, -1);
  return steps.Call(std::move(target), {left, right}, std::move(shape));
}

ValueId Reshape(CompositeSteps& steps, ValueId operand, Shape shape) {
  std::optional<Strides> strides =
      ViewStrides(steps.ShapeOf(operand), steps.StridesOf(operand), shape);
  return steps.View("reshape", operand, std::move(shape), std::move(strides));
}

ValueId ExpandRows(CompositeSteps& steps, ValueId operand, Shape shape) {
  Strides strides(shape.size(), 0);
  if (!strides.empty()) strides.back() = 1;
  return steps.View("expand", operand, std::move(shape), std::move(strides));
}

ValueId Permute(CompositeSteps& steps, ValueId operand,
                const std::vector<std::int64_t>& dims) {
  const Strides strides = steps.StridesOf(operand);
  Shape shape;
  Strides permuted;
  for (const std::int64_t dim : dims) {
    shape.push_back(steps.Size(operand, dim));
    permuted.push_back(strides[FromFront(dim, strides.size())]);
  }
  return steps.View("permute", operand, std::move(shape), std::move(permuted));
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

ValueId Slice(CompositeSteps& steps, ValueId operand, std::int64_t dim,
              std::int64_t size) {
  Shape shape = steps.ShapeOf(operand);
  const std::size_t cut = FromFront(dim, shape.size());
  if (cut >= shape.size()) return operand;
  shape[cut] = size;
  return steps.View("slice", operand, std::move(shape),
                    steps.StridesOf(operand));
}

ValueId Select(CompositeSteps& steps, ValueId operand) {
  Shape shape = steps.ShapeOf(operand);
  if (shape.empty()) return operand;
  Strides strides = steps.StridesOf(operand);
  shape.erase(shape.begin());
  strides.erase(strides.begin());
  return steps.View("select", operand, std::move(shape), std::move(strides));
}

}  // namespace foretell::cost
