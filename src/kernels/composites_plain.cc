#include <algorithm>

#include "src/core/checked.h"
#include "src/graph/attributes.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Distances, reductions and copies that are a few element-wise operators each
// (aten/src/ATen/native/Distance.cpp, ReduceOps.cpp, TensorShape.cpp, 2.13).

namespace foretell::cost {
namespace {

/// Rows from which a Euclidean distance is a product.
constexpr std::int64_t kFewRows = 25;

bool Takes(const CompositeSteps& steps, std::size_t operands) {
  return steps.num_operands() >= operands;
}

bool PairwiseDistance(CompositeSteps& steps) {
  if (!Takes(steps, 2)) return false;
  const ValueId difference =
      Elementwise(steps, "sub", {steps.Operand(0), steps.Operand(1)});
  const ValueId shifted = Elementwise(steps, "add", {difference});
  steps.Return(
      Reduce(steps, "norm", shifted, {-1}, FlagOf(steps.node(), "keepdim")));
  return true;
}

bool Distance(CompositeSteps& steps) {
  if (!Takes(steps, 2)) return false;
  steps.Return(
      Reduce(steps, "norm",
             Elementwise(steps, "sub", {steps.Operand(0), steps.Operand(1)})));
  return true;
}

/// Both operands are normalised, then multiplied and summed.
bool CosineSimilarity(CompositeSteps& steps) {
  if (!Takes(steps, 2)) return false;
  std::vector<ValueId> operands = {steps.Operand(0), steps.Operand(1)};
  const Shape common =
      Broadcast(steps.ShapeOf(operands[0]), steps.ShapeOf(operands[1]));
  const auto counted = DimOf(steps.node(), "dim", common.size(), 1);
  if (!counted) return false;
  const auto dim = static_cast<std::int64_t>(*counted);
  for (ValueId& id : operands) {
    if (steps.RankOf(id) < common.size()) id = steps.View("expand", id, common);
  }
  std::vector<ValueId> norms;
  for (const ValueId id : operands) {
    const ValueId norm = Reduce(steps, "linalg_vector_norm", id, {dim}, true);
    norms.push_back(steps.Call("clone", {norm}, steps.ShapeOf(norm)));
  }
  const ValueId epsilon = steps.Call("scalar_tensor", {}, {});
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId least = steps.InPlace("clamp_min_", {norms[i], epsilon});
    operands[i] = Elementwise(steps, "div", {operands[i], least});
  }
  steps.Return(
      Reduce(steps, "sum", Elementwise(steps, "mul", operands), {dim}));
  return true;
}

/// [x * -2, |x|^2, 1] times the transpose of [y, 1, |y|^2].
ValueId EuclideanDistance(CompositeSteps& steps, ValueId x, ValueId y) {
  const auto extend = [&steps](ValueId id, bool scales) {
    const ValueId square = steps.Call("pow", {id}, steps.ShapeOf(id));
    const ValueId norm = Reduce(steps, "sum", square, {-1}, true);
    const ValueId ones = steps.Call("ones_like", {norm}, steps.ShapeOf(norm));
    const ValueId scaled = scales ? Elementwise(steps, "mul", {id}) : id;
    Shape shape = steps.ShapeOf(id);
    shape.back() += 2;
    return steps.Call("cat", {scaled, norm, ones}, std::move(shape));
  };
  const ValueId left = extend(x, true);
  const ValueId right = extend(y, false);
  const ValueId product =
      Product(steps, "matmul", left, Transpose(steps, right, -1, -2));
  return steps.InPlace("sqrt_", {steps.InPlace("clamp_min_", {product})});
}

bool EuclideanDistanceOnly(CompositeSteps& steps) {
  if (!Takes(steps, 2)) return false;
  const ValueId x = steps.Operand(0);
  const ValueId y = steps.Operand(1);
  if (steps.RankOf(x) < 2 || steps.RankOf(y) != steps.RankOf(x)) return false;
  steps.Return(EuclideanDistance(steps, x, y));
  return true;
}

/// True when the attributes and the number of rows ask for a product.
bool IsProductOfDistances(const CompositeSteps& steps, std::int64_t rows) {
  constexpr std::int64_t kAlways = 1;
  constexpr std::int64_t kNever = 2;
  const std::int64_t mode = steps.node().Int("compute_mode", 0);
  return NumberOf(steps.node(), "p", 2) == 2 && mode != kNever &&
         (mode == kAlways || rows > kFewRows);
}

/// [batch, rows, columns] with `batch` repeated as the other operand has it.
ValueId FlatBatch(CompositeSteps& steps, ValueId id, Shape batch) {
  const std::int64_t images = NumElements(batch);
  if (images == 1) return id;
  const std::int64_t rows = steps.Size(id, -2);
  const std::int64_t columns = steps.Size(id, -1);
  batch.insert(batch.end(), {rows, columns});
  const ValueId all = steps.View("expand", id, batch);
  return Reshape(steps, steps.View("contiguous", all, batch),
                 {images, rows, columns});
}

bool PairDistances(CompositeSteps& steps) {
  if (!Takes(steps, 2)) return false;
  const ValueId x = steps.Operand(0);
  const ValueId y = steps.Operand(1);
  const Shape left = steps.ShapeOf(x);
  const Shape right = steps.ShapeOf(y);
  if (left.size() < 2 || right.size() < 2) return false;
  const std::int64_t rows = std::max(steps.Size(x, -2), steps.Size(y, -2));
  if (!IsProductOfDistances(steps, rows) || left.back() != right.back()) {
    return false;
  }
  Shape shape = Broadcast({left.begin(), left.end() - 2},
                          {right.begin(), right.end() - 2});
  const std::optional<std::int64_t> images = CheckedProduct(shape);
  if (!images || (*images == 1 && left.size() != right.size())) return false;
  const ValueId first = FlatBatch(steps, x, shape);
  const ValueId second = FlatBatch(steps, y, shape);
  shape.insert(shape.end(), {steps.Size(x, -2), steps.Size(y, -2)});
  steps.Return(Reshape(steps, EuclideanDistance(steps, first, second),
                       std::move(shape)));
  return true;
}

/// exp(x - max) summed, its logarithm and the maximum again, which must be
/// finite.
bool LogSumExp(CompositeSteps& steps) {
  if (!Takes(steps, 1)) return false;
  const ValueId x = steps.Operand(0);
  const auto counted = DimsOf(steps.node(), "dim", steps.RankOf(x));
  const bool keep = FlagOf(steps.node(), "keepdim");
  if (!counted || counted->empty()) return false;
  const std::vector<std::int64_t> dims(counted->begin(), counted->end());
  const ValueId most = Reduce(steps, "amax", x, dims, true);
  const ValueId squeezed =
      Reshape(steps, most, keep ? steps.ShapeOf(most) : steps.result().shape);
  const ValueId size = Elementwise(steps, "abs", {squeezed});
  const ValueId infinite = Elementwise(steps, "eq", {size}, DType::kBool);
  steps.InPlace("masked_fill_", {squeezed, infinite});
  const ValueId powers =
      steps.InPlace("exp_", {Elementwise(steps, "sub", {x, most})});
  const ValueId sum =
      steps.InPlace("log_", {Reduce(steps, "sum", powers, dims, keep)});
  steps.Return(steps.InPlace("add_", {sum, squeezed}));
  return true;
}

bool IsFinite(CompositeSteps& steps) {
  if (!Takes(steps, 1)) return false;
  const ValueId x = steps.Operand(0);
  const ValueId bounded =
      Elementwise(steps, "ne", {Elementwise(steps, "abs", {x})}, DType::kBool);
  const ValueId number = Elementwise(steps, "eq", {x}, DType::kBool);
  steps.Return(Elementwise(steps, "mul", {number, bounded}));
  return true;
}

bool IsInfinite(CompositeSteps& steps) {
  if (!Takes(steps, 1)) return false;
  steps.Return(Elementwise(steps, "eq",
                           {Elementwise(steps, "abs", {steps.Operand(0)})},
                           DType::kBool));
  return true;
}

/// A copy that an in-place operator then changes.
bool MaskedFill(CompositeSteps& steps) {
  if (!Takes(steps, 2)) return false;
  const ValueId x = steps.Operand(0);
  const ValueId copy = steps.Call("clone", {x}, steps.ShapeOf(x));
  steps.Return(steps.InPlace("masked_fill_", {copy, steps.Operand(1)}));
  return true;
}

/// One kernel per dimension.
bool Roll(CompositeSteps& steps) {
  const std::vector<std::int64_t> dims = steps.node().Ints("dims", {});
  if (!Takes(steps, 1) || dims.size() < 2) return false;
  ValueId x = steps.Operand(0);
  for (const std::int64_t dim : dims) {
    x = steps.Call("roll", {x}, steps.ShapeOf(x),
                   {{"dims", std::vector<std::int64_t>{dim}}});
  }
  steps.Return(x);
  return true;
}

/// Zeros with the elements on the diagonal.
bool DiagonalMatrix(CompositeSteps& steps) {
  if (!Takes(steps, 1)) return false;
  const ValueId x = steps.Operand(0);
  const Shape shape = steps.result().shape;
  if (NumElements(shape) < NumElements(steps.ShapeOf(x)) || shape.size() < 2 ||
      (steps.node().target == "diag" && steps.RankOf(x) != 1)) {
    return false;
  }
  const ValueId zeros = steps.Call("zeros", {}, shape, {}, steps.TypeOf(x));
  steps.Call("clone", {x}, steps.ShapeOf(x));
  steps.Return(zeros);
  return true;
}

/// Every matrix into a large one of zeros.
bool BlockDiagonal(CompositeSteps& steps) {
  if (!Takes(steps, 1)) return false;
  const ValueId zeros = steps.Call("zeros", {}, steps.result().shape);
  for (std::size_t i = 0; i < steps.num_operands(); ++i) {
    const ValueId part = steps.Operand(i);
    steps.Call("clone", {part}, steps.ShapeOf(part));
  }
  steps.Return(zeros);
  return true;
}

/// Whole channels at once: the noise has one element per channel.
bool FeatureDropout(CompositeSteps& steps) {
  if (!Takes(steps, 1) || !FlagOf(steps.node(), "train")) return false;
  const ValueId x = steps.Operand(0);
  Shape shape = steps.ShapeOf(x);
  if (shape.size() < 2) return false;
  std::fill(shape.begin() + 2, shape.end(), 1);
  const ValueId noise = steps.Call("bernoulli", {}, shape, {}, steps.TypeOf(x));
  steps.Return(Elementwise(steps, "mul", {x, steps.InPlace("div_", {noise})}));
  return true;
}

using enum CompositeCasts;

constexpr Composite kPlainComposites[] = {
    {"_euclidean_dist", kInside, &EuclideanDistanceOnly},
    {"block_diag", kInside, &BlockDiagonal},
    {"cdist", kBefore, &PairDistances},
    {"cosine_similarity", kBefore, &CosineSimilarity},
    {"diag", kInside, &DiagonalMatrix},
    {"diag_embed", kInside, &DiagonalMatrix},
    {"diagflat", kInside, &DiagonalMatrix},
    {"dist", kBefore, &Distance},
    {"feature_dropout", kInside, &FeatureDropout},
    {"isfinite", kInside, &IsFinite},
    {"isinf", kInside, &IsInfinite},
    {"logsumexp", kBefore, &LogSumExp},
    {"masked_fill", kInside, &MaskedFill},
    {"pairwise_distance", kInside, &PairwiseDistance},
    {"roll", kInside, &Roll},
    {"special_logsumexp", kInside, &LogSumExp},
};

}  // namespace

std::span<const Composite> PlainComposites() { return kPlainComposites; }

}  // namespace foretell::cost
