#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "src/graph/trilinear.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Sums of products of three tensors (`_trilinear` and `sumproduct_pair` in
// aten/src/ATen/native/Linear.cpp, 2.13): for every index of one dimension the
// first two are contracted, then their product with the third, and what comes
// of it is added to the result. `bilinear` calls it, and so do its gradients.

namespace foretell::cost {
namespace {

using Dims = std::vector<std::int64_t>;

bool Has(const Dims& dims, std::int64_t dim) {
  return std::ranges::count(dims, dim) > 0;
}

/// Contracts two operands with all dimensions of the sum, those that one lacks
/// having size 1, over `summed`, which stay with size 1.
class PairOfFactors {
 public:
  PairOfFactors(CompositeSteps& steps, ValueId left, ValueId right,
                const Dims& summed)
      : steps_(steps), left_(left), right_(right) {
    for (std::int64_t dim = 0; dim < std::ssize(steps.ShapeOf(left)); ++dim) {
      const bool in_left = steps.Size(left, dim) > 1;
      const bool in_right = steps.Size(right, dim) > 1;
      if (!Has(summed, dim)) {
        (in_left && in_right ? both_
         : in_left           ? rows_
                             : columns_)
            .push_back(dim);
        continue;
      }
      summed_.push_back(dim);
      if (in_left && !in_right)
        left_ = Reduce(steps, "sum", left_, {dim}, true);
      if (in_right && !in_left) {
        right_ = Reduce(steps, "sum", right_, {dim}, true);
      }
    }
  }

  ValueId Contract() {
    if (summed_.empty()) return Elementwise(steps_, "mul", {left_, right_});
    const std::int64_t batch = Extent(left_, both_);
    const std::int64_t inner = Extent(left_, summed_);
    const Dims order = Order(rows_, summed_, columns_);
    const ValueId left = Reshape(steps_, Permute(steps_, left_, order),
                                 {batch, Extent(left_, rows_), inner});
    const ValueId right = Reshape(
        steps_, Permute(steps_, right_, Order(summed_, columns_, rows_)),
        {batch, inner, Extent(right_, columns_)});
    Shape shape;
    for (const std::int64_t dim : order) {
      shape.push_back(Has(summed_, dim) ? 1
                                        : std::max(steps_.Size(left_, dim),
                                                   steps_.Size(right_, dim)));
    }
    Dims back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    return Permute(steps_,
                   Reshape(steps_, Product(steps_, "bmm", left, right), shape),
                   back);
  }

 private:
  /// The dimensions of both operands, then these.
  Dims Order(const Dims& first, const Dims& second, const Dims& third) const {
    Dims order = both_;
    for (const Dims& part : {first, second, third}) {
      order.insert(order.end(), part.begin(), part.end());
    }
    return order;
  }

  std::int64_t Extent(ValueId id, const Dims& dims) const {
    std::int64_t extent = 1;
    for (const std::int64_t dim : dims) extent *= steps_.Size(id, dim);
    return extent;
  }

  CompositeSteps& steps_;
  ValueId left_, right_;
  Dims both_, rows_, columns_, summed_;
};

/// `shape` with size 1 for every dimension that it lacks.
Shape WithAllDims(const Shape& shape, const Dims& dims, std::size_t rank) {
  Shape all(rank, 1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    all[static_cast<std::size_t>(dims[i])] = shape[i];
  }
  return all;
}

bool WriteTrilinear(CompositeSteps& steps) {
  if (steps.num_operands() != Trilinear::kOperands) return false;
  std::array<ValueId, Trilinear::kOperands> factors = {
      steps.Operand(0), steps.Operand(1), steps.Operand(2)};
  const auto how = ReadTrilinear(
      steps.node(), {steps.ShapeOf(factors[0]), steps.ShapeOf(factors[1]),
                     steps.ShapeOf(factors[2])});
  if (!how) return false;
  const std::int64_t times =
      how->extents[static_cast<std::size_t>(how->unrolled)];
  Shape shape;
  for (std::int64_t dim = 0; dim < std::ssize(how->extents); ++dim) {
    shape.push_back(Has(how->summed, dim)
                        ? 1
                        : how->extents[static_cast<std::size_t>(dim)]);
  }
  const ValueId sum = steps.Call("zeros", {}, shape);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    factors[i] =
        Slice(steps,
              Reshape(steps, factors[i],
                      WithAllDims(how->shapes[i], how->dims[i], shape.size())),
              how->unrolled, 1);
  }
  Dims first, second;
  for (const std::int64_t dim : how->summed) {
    if (dim != how->unrolled)
      (Has(how->dims[2], dim) ? second : first).push_back(dim);
  }
  steps.Repeat(times);
  const ValueId pair =
      PairOfFactors(steps, factors[0], factors[1], first).Contract();
  const ValueId part =
      PairOfFactors(steps, pair, factors[2], second).Contract();
  const bool adds_to_all = Has(how->summed, how->unrolled);
  steps.InPlace(
      "add_", {adds_to_all ? sum : Slice(steps, sum, how->unrolled, 1), part});
  steps.Repeat(1);
  Shape result;
  for (std::int64_t dim = 0; dim < std::ssize(shape); ++dim) {
    if (!Has(how->summed, dim)) {
      result.push_back(shape[static_cast<std::size_t>(dim)]);
    }
  }
  steps.Return(Reshape(steps, sum, std::move(result)));
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
