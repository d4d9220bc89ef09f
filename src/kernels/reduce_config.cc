#include "src/kernels/reduce_config.h"

#include <algorithm>
#include <bit>

#include "src/core/checked.h"

namespace foretell::cost {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMinValues = 16;
constexpr std::int64_t kMaxValues = 256;
constexpr std::int64_t kInputVector = 4;

std::int64_t PowerOfTwoUpTo(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(
      static_cast<std::uint64_t>(std::max<std::int64_t>(value, 1))));
}

struct BlockShape {
  std::int64_t width;
  std::int64_t height;
};

BlockShape ShapeOfBlocks(const ReductionExtents& extents) {
  std::int64_t across =
      extents.reduces_fastest ? extents.inputs : extents.outputs;
  const std::int64_t along =
      extents.reduces_fastest ? extents.outputs : extents.inputs;
  const bool vectorizes_input = extents.is_flat &&
                                extents.fastest_stride == 1 &&
                                across > kInputVector * kWarp;
  across /= vectorizes_input ? kInputVector : extents.vector;
  const std::int64_t threads = kReductionThreads / extents.vector;
  const std::int64_t across_threads = std::min(PowerOfTwoUpTo(across), threads);
  const std::int64_t along_threads = std::min(PowerOfTwoUpTo(along), threads);
  const std::int64_t width = std::min(across_threads, kWarp);
  const std::int64_t height = std::min(along_threads, threads / width);
  return {std::min(across_threads, threads / height), height};
}

}  // namespace

ReduceConfig ConfigureReduction(const ReductionExtents& extents,
                                std::int64_t sms, std::int64_t threads_per_sm) {
  const auto [width, height] = ShapeOfBlocks(extents);
  std::int64_t inputs_a_step = extents.reduces_fastest ? width : 1;
  std::int64_t outputs_a_step = extents.reduces_fastest ? 1 : width;
  std::int64_t values = CeilDiv(extents.inputs, inputs_a_step);
  const bool splits_warps = values >= std::min(height * kMinValues, kMaxValues);
  (splits_warps ? inputs_a_step : outputs_a_step) *= height;
  values = CeilDiv(extents.inputs, inputs_a_step);

  ReduceConfig config = {
      .grid = CeilDiv(extents.outputs / extents.vector, outputs_a_step),
      .side_by_side = extents.reduces_fastest ? 1 : width * extents.vector};
  const std::int64_t target = sms * (threads_per_sm / (width * height));
  if (splits_warps && values >= kMaxValues && config.grid <= target) {
    config.splits = std::max(
        std::min(CeilDiv(target, config.grid), CeilDiv(values, kMinValues)),
        CeilDiv(values, kMaxValues));
  }
  return config;
}

}  // namespace foretell::cost
