#include <algorithm>
#include <limits>
#include <string_view>

#include "src/graph/attributes.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Products that are several products, or need their factors turned first
// (aten/src/ATen/native/Linear.cpp, LinearAlgebra.cpp, 2.13).

namespace foretell::cost {
namespace {

/// The dimensions that an attribute says; empty when one is not there.
std::optional<std::vector<std::int64_t>> Dimensions(const CompositeSteps& steps,
                                                    std::string_view name,
                                                    ValueId id) {
  const auto dims = DimsOf(steps.node(), name, steps.RankOf(id));
  if (!dims) return std::nullopt;
  return std::vector<std::int64_t>(dims->begin(), dims->end());
}

std::vector<std::int64_t> Others(const std::vector<std::int64_t>& dims,
                                 std::size_t rank) {
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i) {
    if (std::ranges::count(dims, i) == 0) others.push_back(i);
  }
  return others;
}

std::vector<std::int64_t> Joined(std::vector<std::int64_t> first,
                                 const std::vector<std::int64_t>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::int64_t Extent(const CompositeSteps& steps, ValueId id,
                    const std::vector<std::int64_t>& dims) {
  std::int64_t extent = 1;
  for (const std::int64_t dim : dims) extent *= steps.Size(id, dim);
  return extent;
}

/// The contracted dimensions go last on the left and first on the right.
bool Tensordot(CompositeSteps& steps) {
  if (steps.num_operands() < 2) return false;
  const ValueId left = steps.Operand(0);
  const ValueId right = steps.Operand(1);
  const auto inner_left = Dimensions(steps, "dims_self", left);
  const auto inner_right = Dimensions(steps, "dims_other", right);
  if (!inner_left || !inner_right ||
      inner_left->size() != inner_right->size()) {
    return false;
  }
  const auto rows = Others(*inner_left, steps.RankOf(left));
  const auto columns = Others(*inner_right, steps.RankOf(right));
  const std::int64_t contracted = Extent(steps, left, *inner_left);
  const ValueId first =
      Reshape(steps, Permute(steps, left, Joined(rows, *inner_left)),
              {Extent(steps, left, rows), contracted});
  const ValueId second =
      Reshape(steps, Permute(steps, right, Joined(*inner_right, columns)),
              {contracted, Extent(steps, right, columns)});
  steps.Return(Reshape(steps, Product(steps, "mm", first, second),
                       steps.result().shape));
  return true;
}

/// Product of matrices `first` to `last`, grouped to multiply least; `splits`
/// by the number of matrices times first plus last.
struct Chain {
  std::vector<ValueId> factors;
  std::vector<std::size_t> splits;

  std::size_t& Split(std::size_t first, std::size_t last) {
    return splits[first * factors.size() + last];
  }
};

/// Cheapest grouping by dynamic programming; extents[i] and [i + 1] are rows
/// and columns of factor i.
void FindSplits(const std::vector<double>& extents, Chain& chain) {
  const std::size_t n = chain.factors.size();
  chain.splits.assign(n * n, 0);
  std::vector<double> costs(n * n, 0);
  for (std::size_t length = 1; length < n; ++length) {
    for (std::size_t first = 0; first + length < n; ++first) {
      const std::size_t last = first + length;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t split = first; split < last; ++split) {
        const double cost =
            costs[first * n + split] + costs[(split + 1) * n + last] +
            extents[first] * extents[split + 1] * extents[last + 1];
        if (cost >= least) continue;
        least = cost;
        chain.Split(first, last) = split;
      }
      costs[first * n + last] = least;
    }
  }
}

ValueId Multiply(CompositeSteps& steps, Chain& chain, std::size_t first,
                 std::size_t last) {
  if (first == last) return chain.factors[first];
  const std::size_t split = chain.Split(first, last);
  const ValueId left = Multiply(steps, chain, first, split);
  const ValueId right = Multiply(steps, chain, split + 1, last);
  return Product(steps, "mm", left, right);
}

/// Vectors at the ends are matrices of one row or column.
bool MatrixChain(CompositeSteps& steps) {
  constexpr std::size_t kMostFactors = 64;
  const std::size_t n = steps.num_operands();
  if (n < 2 || n > kMostFactors) return false;
  Chain chain;
  std::vector<double> extents;
  for (std::size_t i = 0; i < n; ++i) {
    ValueId factor = steps.Operand(i);
    const std::int64_t size = steps.Size(factor, 0);
    if (steps.RankOf(factor) == 1) {
      factor =
          steps.View("view", factor, i == 0 ? Shape{1, size} : Shape{size, 1});
    }
    if (steps.RankOf(factor) != 2) return false;
    chain.factors.push_back(factor);
    extents.push_back(static_cast<double>(steps.Size(factor, 0)));
  }
  extents.push_back(static_cast<double>(steps.Size(chain.factors.back(), 1)));
  FindSplits(extents, chain);
  steps.Return(
      Reshape(steps, Multiply(steps, chain, 0, n - 1), steps.result().shape));
  return true;
}

/// Squares and multiplies by the bits of the exponent.
bool MatrixPower(CompositeSteps& steps) {
  const std::int64_t n = steps.node().Int("n", 0);
  if (steps.num_operands() < 1 || n < 2) return false;
  ValueId square = steps.Operand(0);
  std::optional<ValueId> power;
  for (std::int64_t rest = n; rest > 0; rest /= 2) {
    if (rest != n) square = Product(steps, "matmul", square, square);
    if (rest % 2 == 0) continue;
    power = power ? Product(steps, "matmul", *power, square) : square;
  }
  steps.Return(*power);
  return true;
}

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

/// Element by element, then summed.
bool VectorDot(CompositeSteps& steps) {
  if (steps.num_operands() < 2) return false;
  const ValueId product =
      Elementwise(steps, "mul", {steps.Operand(0), steps.Operand(1)});
  const auto dim = DimOf(steps.node(), "dim", steps.RankOf(product), -1);
  if (!dim) return false;
  steps.Return(
      Reduce(steps, "sum", product, {static_cast<std::int64_t>(*dim)}));
  return true;
}

/// Every element of a vector by every one of another: a multiplication that
/// broadcasts, no product of matrices. `kFirst` is the vector's place; what
/// stands before it is added.
template <std::size_t kFirst>
bool OuterProduct(CompositeSteps& steps) {
  if (steps.num_operands() != kFirst + 2) return false;
  const ValueId left = steps.Operand(kFirst);
  const ValueId right = steps.Operand(kFirst + 1);
  if (steps.RankOf(left) != 1 || steps.RankOf(right) != 1) return false;
  std::vector<ValueId> factors = {
      Reshape(steps, left, {steps.Size(left, 0), 1}), right};
  if (kFirst > 0) factors.insert(factors.begin(), steps.Operand(0));
  steps.Return(Elementwise(steps, kFirst > 0 ? "addcmul" : "mul", factors));
  return true;
}

/// Dimensions of both factors take turns, so that one multiplication has all
/// pairs.
bool Kronecker(CompositeSteps& steps) {
  if (!steps.TakesTwo()) return false;
  const ValueId left = steps.Operand(0);
  const ValueId right = steps.Operand(1);
  const auto rank = static_cast<std::int64_t>(
      std::max(steps.RankOf(left), steps.RankOf(right)));
  Shape spread, repeated;
  for (std::int64_t back = rank; back > 0; --back) {
    spread.insert(spread.end(), {steps.Size(left, -back), 1});
    repeated.insert(repeated.end(), {1, steps.Size(right, -back)});
  }
  const ValueId product =
      Elementwise(steps, "mul",
                  {Reshape(steps, left, std::move(spread)),
                   Reshape(steps, right, std::move(repeated))});
  steps.Return(Reshape(steps, product, steps.result().shape));
  return true;
}

using enum CompositeCasts;

constexpr Composite kProductComposites[] = {
    {"addbmm", kBefore, &SumOfProducts},
    {"addr", kBefore, &OuterProduct<1>},
    {"chain_matmul", kBefore, &MatrixChain},
    {"einsum", kBefore, &Einsum},
    {"ger", kInside, &OuterProduct<0>},
    {"kron", kInside, &Kronecker},
    {"linalg_matrix_power", kInside, &MatrixPower},
    {"linalg_multi_dot", kBefore, &MatrixChain},
    {"linalg_vecdot", kBefore, &VectorDot},
    {"matrix_power", kInside, &MatrixPower},
    {"outer", kInside, &OuterProduct<0>},
    {"tensordot", kInside, &Tensordot},
};

}  // namespace

std::span<const Composite> ProductComposites() { return kProductComposites; }

}  // namespace foretell::cost
