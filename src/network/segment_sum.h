#pragma once

#include <cstdint>

namespace foretell::learned {

/// Rows of a matrix in memory, `stride` elements apart.
template <typename T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;
};

/// The one sum that every graph layer makes, forward and backward, on the CPU
/// and on the GPU. For each row i and every column
///
///     out[i] = own_scale[i] · own[i]
///            + target_scale[i] · Σ_k source_scale[j_k] · x[j_k],
///
/// k from begin[i] up to begin[i + 1] and j_k = neighbour[k]. A scale that is
/// null counts as 1; without `own.data` its term is absent. A row without
/// neighbours sums to 0. `out` overlaps none of the inputs.
///
/// No LibTorch type is used here: plain `nvcc` and a plain compiler read it.
template <typename T>
struct SegmentSum {
  std::int64_t num_rows = 0;
  std::int64_t num_columns = 0;
  const std::int32_t* begin = nullptr;      ///< [num_rows + 1]
  const std::int32_t* neighbour = nullptr;  ///< [begin[num_rows]]
  Rows<const T> x;
  Rows<const T> own;
  const T* own_scale = nullptr;     ///< [num_rows]
  const T* source_scale = nullptr;  ///< [rows of x]
  const T* target_scale = nullptr;  ///< [num_rows]
  Rows<T> out;
};

/// Computes rows [first, last) on the calling thread.
void RunSegmentSum(const SegmentSum<float>& sum, std::int64_t first,
                   std::int64_t last);
void RunSegmentSum(const SegmentSum<double>& sum, std::int64_t first,
                   std::int64_t last);

}  // namespace foretell::learned
