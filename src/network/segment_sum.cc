#include "src/network/segment_sum.h"

#include "src/network/row_ops.h"

namespace foretell::learned {
namespace {

template <typename T>
T ScaleOf(const T* scales, std::int64_t i) {
  return scales == nullptr ? T(1) : scales[i];
}

// The row of `out` stays in the first-level cache while the neighbours' rows
// stream through; the first term writes it, so that it is not filled before.
template <typename T>
void RunRow(const SegmentSum<T>& sum, std::int64_t i) {
  T* out = sum.out.data + i * sum.out.stride;
  std::int64_t k = sum.begin[i];
  const std::int64_t end = sum.begin[i + 1];
  const T target_scale = ScaleOf(sum.target_scale, i);
  const auto row = [&sum](std::int64_t j) {
    return sum.x.data + j * sum.x.stride;
  };
  if (sum.own.data != nullptr) {
    ScaleRow(out, sum.own.data + i * sum.own.stride, ScaleOf(sum.own_scale, i),
             sum.num_columns);
  } else if (k < end) {
    const std::int64_t j = sum.neighbour[k++];
    ScaleRow(out, row(j), target_scale * ScaleOf(sum.source_scale, j),
             sum.num_columns);
  } else {
    FillRow(out, T(0), sum.num_columns);
  }
  for (; k < end; ++k) {
    const std::int64_t j = sum.neighbour[k];
    AddScaledRow(out, row(j), target_scale * ScaleOf(sum.source_scale, j),
                 sum.num_columns);
  }
}

}  // namespace

void RunSegmentSum(const SegmentSum<float>& sum, std::int64_t first,
                   std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) RunRow(sum, i);
}

void RunSegmentSum(const SegmentSum<double>& sum, std::int64_t first,
                   std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) RunRow(sum, i);
}

}  // namespace foretell::learned
