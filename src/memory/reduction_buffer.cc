#include "src/memory/reduction_buffer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "src/core/checked.h"
#include "src/graph/attributes.h"
#include "src/graph/strides.h"

// The staging memory of ATen's reductions.
//
// A sum of many numbers into few is split among thread blocks, which leave
// their parts in a buffer (setReduceConfig and ReduceConfig::global_memory_size
// in aten/src/ATen/native/cuda/Reduce.cuh, PyTorch 2.11). Where a warp reduces
// 32 outputs side by side, as for the gradient of a bias, the buffer has room
// for each of them once per thread and per output of a vector: the gradient of
// a linear layer's bias takes 132 MiB on an H100. Its sizes equal what an H100
// took (datasets/labels/h100-sxm5-80gb/kinds.jsonl.gz) for sums, means, norms
// and extremes along any dimensions, less the semaphores.

namespace foretell::memory {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMaxThreads = 512;
constexpr std::int64_t kMinValues = 16;
constexpr std::int64_t kMaxValues = 256;
constexpr std::int64_t kVector = 4;

std::int64_t PowerOfTwoUpTo(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(
      static_cast<std::uint64_t>(std::max<std::int64_t>(value, 1))));
}

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
  constexpr std::int64_t kFloatBytes = 4;
  constexpr std::int64_t kMomentsBytes = 16;
  if (accumulator == Accumulator::kMoments) return kMomentsBytes;
  const std::int64_t width = ByteWidth(dtype);
  return accumulator == Accumulator::kOperands ? width
                                               : std::max(width, kFloatBytes);
}

/// The extents of a reduction as TensorIterator orders them.
struct Extents {
  std::int64_t outputs = 1;
  std::int64_t inputs = 1;  ///< Per output.
  bool reduces_fastest = false;
  std::int64_t fastest_stride = 1;
  std::int64_t vector = 1;  ///< Neighbouring outputs that a thread takes.
  bool is_flat = true;      ///< One stretch of memory.
};

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

Extents ExtentsOf(const Node& node, const Value& input) {
  const Shape& shape = input.type.shape;
  const Strides strides = StridesOf(input);
  const std::vector<bool> reduced = ReducedDims(node, shape.size());
  constexpr std::int64_t kNoStride = std::numeric_limits<std::int64_t>::max();
  Extents extents;
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

std::int64_t BufferBytes(const Extents& extents, std::int64_t accumulator_bytes,
                         const DeviceSpec& device) {
  std::int64_t across =
      extents.reduces_fastest ? extents.inputs : extents.outputs;
  const std::int64_t along =
      extents.reduces_fastest ? extents.outputs : extents.inputs;
  const bool vectorizes_input =
      extents.is_flat && extents.fastest_stride == 1 && across > 4 * kWarp;
  across /= vectorizes_input ? kVector : extents.vector;
  const std::int64_t threads = kMaxThreads / extents.vector;
  const std::int64_t across_threads = std::min(PowerOfTwoUpTo(across), threads);
  const std::int64_t along_threads = std::min(PowerOfTwoUpTo(along), threads);
  std::int64_t width = std::min(across_threads, kWarp);
  const std::int64_t height = std::min(along_threads, threads / width);
  width = std::min(across_threads, threads / height);

  std::int64_t inputs_a_step = extents.reduces_fastest ? width : 1;
  std::int64_t outputs_a_step = extents.reduces_fastest ? 1 : width;
  std::int64_t values = CeilDiv(extents.inputs, inputs_a_step);
  const bool splits_warps = values >= std::min(height * kMinValues, kMaxValues);
  (splits_warps ? inputs_a_step : outputs_a_step) *= height;
  values = CeilDiv(extents.inputs, inputs_a_step);

  const std::int64_t target =
      device.sms * (device.ThreadsPerSm() / (width * height));
  const std::int64_t grid =
      CeilDiv(extents.outputs / extents.vector, outputs_a_step);
  if (!splits_warps || values < kMaxValues || grid > target) return 0;
  const std::int64_t blocks =
      std::max(std::min(CeilDiv(target, grid), CeilDiv(values, kMinValues)),
               CeilDiv(values, kMaxValues));
  if (blocks <= 1) return 0;
  const std::int64_t side_by_side =
      extents.reduces_fastest ? 1 : width * extents.vector;
  return accumulator_bytes * extents.outputs * blocks * side_by_side;
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
