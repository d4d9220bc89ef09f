#include "src/kernels/strides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "foretell/error.h"
#include "src/core/checked.h"

namespace foretell::cost {
namespace {

constexpr std::size_t kImageRank = 4;
constexpr std::size_t kVolumeRank = 5;

/// Elements at equal distances.
struct StridedRun {
  std::int64_t size = 1;
  std::int64_t stride = 1;
};

/// Merges dimensions that follow on each other in memory, outermost first.
std::vector<StridedRun> MergedRuns(const Shape& shape, const Strides& strides) {
  std::vector<StridedRun> runs;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 1) continue;
    const StridedRun next = {shape[dim], strides[dim]};
    const bool follows =
        !runs.empty() && runs.back().stride == next.size * next.stride;
    if (follows) {
      runs.back() = {runs.back().size * next.size, next.stride};
    } else {
      runs.push_back(next);
    }
  }
  return runs;
}

}  // namespace

std::int64_t NumElements(const Shape& shape) {
  const std::optional<std::int64_t> product = CheckedProduct(shape);
  if (product) return *product;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("a tensor of [{}] has more elements than int64",
                          fmt::join(shape, ", ")));
}

std::int64_t PositionsOf(const Shape& shape) {
  std::int64_t product = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) product *= shape[i];
  return product;
}

std::int64_t ProductBefore(const Shape& shape, std::size_t dims_left) {
  return NumElements(
      {shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(
                                        std::min(dims_left, shape.size()))});
}

bool HaveSameOrder(const Shape& shape, const Strides& left,
                   const Strides& right) {
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] != 1 && left[dim] != right[dim]) return false;
  }
  return true;
}

bool FitsChannelsLast(const Shape& shape, const Strides& strides) {
  if (shape.size() != kImageRank && shape.size() != kVolumeRank) return false;
  Shape inner_last = shape;
  Strides steps = strides;
  std::rotate(inner_last.begin() + 1, inner_last.begin() + 2, inner_last.end());
  std::rotate(steps.begin() + 1, steps.begin() + 2, steps.end());
  return IsContiguous(inner_last, steps);
}

std::optional<Strides> ViewStrides(const Shape& shape, const Strides& strides,
                                   const Shape& new_shape) {
  const std::int64_t elements = NumElements(shape);
  if (elements != NumElements(new_shape)) return std::nullopt;
  if (elements <= 1) return ContiguousStrides(new_shape);
  const std::vector<StridedRun> runs = MergedRuns(shape, strides);
  Strides result(new_shape.size(), 1);
  std::size_t dim = new_shape.size();
  for (std::size_t i = runs.size(); i-- > 0;) {
    StridedRun left = runs[i];
    while (dim > 0 && (left.size > 1 || new_shape[dim - 1] == 1)) {
      --dim;
      if (left.size % new_shape[dim] != 0) return std::nullopt;
      result[dim] = left.stride;
      left.stride *= new_shape[dim];
      left.size /= new_shape[dim];
    }
    if (left.size != 1) return std::nullopt;
  }
  return result;
}

bool FoldsABatch(const Shape& shape, const Strides& strides) {
  if (shape.size() <= 3) return true;
  const auto rank = static_cast<std::ptrdiff_t>(shape.size());
  const Shape batch(shape.begin(), shape.begin() + rank - 2);
  const Strides steps(strides.begin(), strides.begin() + rank - 2);
  return ViewStrides(batch, steps, {NumElements(batch)}).has_value();
}

bool FitsABatchedProduct(const Shape& shape, const Strides& strides) {
  if (shape.size() < 2) return true;
  if (!FoldsABatch(shape, strides)) return false;
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t columns = shape.back();
  if (rows <= 1 || columns <= 1) return true;
  const std::int64_t row = strides[shape.size() - 2];
  const std::int64_t column = strides.back();
  return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

}  // namespace foretell::cost
