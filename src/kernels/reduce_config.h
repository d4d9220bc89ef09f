#pragma once

#include <cstdint>

namespace foretell::cost {

/// The extents of a reduction as ATen's TensorIterator orders them.
struct ReductionExtents {
  std::int64_t outputs = 1;
  std::int64_t inputs = 1;  ///< Per output.
  bool reduces_fastest = false;
  std::int64_t fastest_stride = 1;
  std::int64_t vector = 1;  ///< Neighbouring outputs that a thread takes.
  bool is_flat = false;     ///< One stretch of memory.
};

/// How blocks of threads share a reduction.
struct ReduceConfig {
  std::int64_t grid = 1;    ///< Blocks that have outputs of their own.
  std::int64_t splits = 1;  ///< Blocks that share the inputs of one of these.
  /// Outputs of a block that each of its splits has a part of.
  std::int64_t side_by_side = 1;
};

/// What ATen decides for `extents` on a GPU: setReduceConfig in
/// aten/src/ATen/native/cuda/Reduce.cuh, PyTorch 2.11.
ReduceConfig ConfigureReduction(const ReductionExtents& extents,
                                std::int64_t sms, std::int64_t threads_per_sm);

/// Threads of a block of a reduction; a vector of outputs divides them.
inline constexpr std::int64_t kReductionThreads = 512;

}  // namespace foretell::cost
