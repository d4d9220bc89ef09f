#include "src/memory/reduction_buffer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "src/graph/attributes.h"
#include "src/graph/strides.h"
#include "src/kernels/reduce_config.h"

// The staging memory of ATen's reductions.
//
// A sum of many numbers into few is split among thread blocks, which leave
// their parts in a buffer (ReduceConfig::global_memory_size in
// aten/src/ATen/native/cuda/Reduce.cuh, PyTorch 2.11). Where a warp reduces
// 32 outputs side by side, as for the gradient of a bias, the buffer has room
// for each of them once per thread and per output of a vector: the gradient of
// a linear layer's bias takes 132 MiB on an H100. Its sizes equal what an H100
// took (datasets/labels/h100-sxm5-80gb/kinds.jsonl.gz) for sums, means, norms
// and extremes along any dimensions, less the semaphores.

namespace foretell::memory {
namespace {

/// Outputs that a thread takes at most.
constexpr std::int64_t kVector = 4;

/// What a thread accumulates in.
enum class Accumulator : std::uint8_t { kFloat, kOperands, kMoments };

struct Reduction {
  std::string_view target;
  Accumulator accumulator;
};

constexpr std::array<Reduction, 10> kReductions = {{
    {"sum", Accumulator::kFloat},
    {"nansum", Accumulator::kFloat},
    {"mean", Accumulator::kFloat},
    {"prod", Accumulator::kFloat},
    {"norm", Accumulator::kFloat},
    {"linalg_vector_norm", Accumulator::kFloat},
    {"amax", Accumulator::kOperands},
    {"amin", Accumulator::kOperands},
    {"var", Accumulator::kMoments},
    {"var_mean", Accumulator::kMoments},
}};

std::int64_t AccumulatorBytes(Accumulator accumulator, DType dtype) {
  constexpr std::int64_t kLeastBytes = 4;
  constexpr std::int64_t kMomentsBytes = 16;
  if (accumulator == Accumulator::kMoments) return kMomentsBytes;
  const std::int64_t width = ByteWidth(dtype);
  return accumulator == Accumulator::kOperands ? width
                                               : std::max(width, kLeastBytes);
}

/// The most outputs, up to four, that all extents and strides divide.
std::int64_t OutputVector(std::int64_t extent, const Strides& other_strides) {
  std::int64_t vector = kVector;
  while (extent % vector != 0) vector /= 2;
  for (const std::int64_t stride : other_strides) {
    while (stride % vector != 0) vector /= 2;
  }
  return vector;
}

/// By dimension; all where none is named.
std::vector<bool> ReducedDims(const Node& node, std::size_t rank) {
  const auto dims = DimsOf(node, "dim", rank);
  std::vector<bool> reduced(rank, dims && dims->empty());
  if (!dims) return reduced;
  for (const std::size_t dim : *dims) reduced[dim] = true;
  return reduced;
}

cost::ReductionExtents ExtentsOf(const Node& node, const Value& input) {
  const Shape& shape = input.type.shape;
  const Strides strides = StridesOf(input);
  const std::vector<bool> reduced = ReducedDims(node, shape.size());
  constexpr std::int64_t kNoStride = std::numeric_limits<std::int64_t>::max();
  cost::ReductionExtents extents;
  std::int64_t fastest_reduced = kNoStride;
  std::int64_t fastest_kept = kNoStride;
  std::int64_t kept_extent = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    (reduced[i] ? extents.inputs : extents.outputs) *= shape[i];
    std::int64_t& fastest = reduced[i] ? fastest_reduced : fastest_kept;
    if (strides[i] >= fastest) continue;
    fastest = strides[i];
    if (!reduced[i]) kept_extent = shape[i];
  }
  extents.reduces_fastest =
      extents.outputs == 1 || fastest_reduced < fastest_kept;
  extents.fastest_stride =
      extents.reduces_fastest ? fastest_reduced : fastest_kept;
  extents.is_flat = extents.outputs == 1 && IsContiguous(shape, strides);
  if (extents.reduces_fastest || fastest_kept != 1) return extents;
  Strides others;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1 && strides[i] != fastest_kept)
      others.push_back(strides[i]);
  }
  extents.vector = OutputVector(kept_extent, others);
  return extents;
}

std::int64_t BufferBytes(const cost::ReductionExtents& extents,
                         std::int64_t accumulator_bytes,
                         const DeviceSpec& device) {
  const cost::ReduceConfig config =
      cost::ConfigureReduction(extents, device.sms, device.ThreadsPerSm());
  if (config.splits <= 1) return 0;
  return accumulator_bytes * extents.outputs * config.splits *
         config.side_by_side;
}

}  // namespace

std::int64_t ReductionBufferBytes(const Node& node, const OperatorGraph& graph,
                                  const DeviceSpec& device) {
  const auto rule =
      std::ranges::find(kReductions, node.target, &Reduction::target);
  if (rule == kReductions.end() || node.inputs.empty()) return 0;
  const Value& input = graph.value(node.inputs.front());
  if (input.type.NumElements() == 0) return 0;
  return BufferBytes(ExtentsOf(node, input),
                     AccumulatorBytes(rule->accumulator, input.type.dtype),
                     device);
}

}  // namespace foretell::memory
