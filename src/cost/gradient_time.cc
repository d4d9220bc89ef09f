#include "src/cost/gradient_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "src/core/units.h"
#include "src/cost/roofline.h"
#include "src/cost/thread_loops.h"

// Backward operators of PyTorch (aten/src/ATen/native/cuda). Which threads and
// blocks they launch is read off its source, 2.11, and off an H100's launches;
// cycles and shares of the bandwidth are fitted to the latter
// (datasets/labels/h100-sxm5-80gb/kinds.jsonl.gz), as in thread_loops.cc.

namespace foretell::cost {
namespace {

/// Of kernels that move vectors, or whose loads suffice to hide the latency.
constexpr double kStreamShare = 0.83;
constexpr double kFillShare = 0.87;

double BytesUs(double bytes, double share, const Machine& machine) {
  return bytes / machine.bytes_per_us / share;
}

/// Time of `work` cycles that all multiprocessors share.
double SharedUs(double work, const Machine& machine) {
  return work / (machine.CyclesPerUs() * machine.sms);
}

bool IsOf16Bits(const Kernel& kernel) {
  return kernel.element_bytes_in == kHalfElementBytes;
}

double CacheBytes(const Machine& machine) {
  return static_cast<double>(machine.device->l2_mib) * kMiB * machine.share;
}

/// A kernel with a thread for each of `rows` elements; adding to elements of 16
/// bits costs `half` times as much.
struct ThreadRow {
  ElementLoop loop;
  double start;    ///< Cycles of a multiprocessor.
  double element;  ///< For each of the row's elements.
  double half;
  bool fills;  ///< Adds to zeros.
};

// clang-format off
constexpr ThreadRow kThreadRows[] = {
    {ElementLoop::kAveragePoolGradient,   4.0,  0.42, 1.0, false},
    {ElementLoop::kVolumePoolGradient,    1.0,  0.75, 1.0, true},
    {ElementLoop::kAdaptivePoolGradient,  3.3,  0.0,  1.7, true},
    {ElementLoop::kMaxPoolGradient,       2.25, 0.15, 1.0, true},
    {ElementLoop::kMaxVolumeGradient,     6.5,  0.0,  1.0, true},
    {ElementLoop::kAdaptiveMaxGradient,   2.6,  0.0,  1.0, true},
    {ElementLoop::kInterpolationGradient, 0.0,  0.6,  2.2, true},
    {ElementLoop::kCubicGradient,         0.0,  0.44, 7.3, true},
    {ElementLoop::kNearestGradient,       1.6,  0.0,  1.0, false},
    {ElementLoop::kNearestVolumeGradient, 3.8,  0.0,  1.0, false},
    {ElementLoop::kPaddingGradient,       1.6,  0.0,  1.8, true},
    {ElementLoop::kSampledGradient,       0.0,  15.0, 2.0, true},
    {ElementLoop::kAddedGradient,         1.95, 0.0,  1.13, true},
    {ElementLoop::kEmbeddedGradient,      4.5,  0.0,  1.0, true},
    {ElementLoop::kSlicedGradient,        0.68, 0.0,  1.0, true},
};
// clang-format on

/// Maximum poolings of channels-last images.
constexpr ThreadRow kChannelsLastMaxPool = {ElementLoop::kMaxPoolGradient, 0.6,
                                            0.5, 1.0, true};

/// Adaptive average poolings of channels-last images, which add nothing.
constexpr ThreadRow kChannelsLastAdaptivePool = {
    ElementLoop::kAdaptivePoolGradient, 1.0, 0.0, 1.0, true};

/// Share of the multiprocessors that a thread for each place of an image, in
/// blocks of 1,024, keeps busy.
double PlacesShare(const Kernel& kernel, const Machine& machine) {
  constexpr double kBlock = 1024;
  if (kernel.loop != ElementLoop::kCubicGradient) return 1;
  return std::min(1.0, std::ceil(Real(kernel.row_step) / kBlock) / machine.sms);
}

const ThreadRow& ThreadRowOf(const Kernel& kernel) {
  if (kernel.loop == ElementLoop::kMaxPoolGradient && kernel.channels_last) {
    return kChannelsLastMaxPool;
  }
  if (kernel.loop == ElementLoop::kAdaptivePoolGradient &&
      kernel.channels_last) {
    return kChannelsLastAdaptivePool;
  }
  return *std::ranges::find(kThreadRows, kernel.loop, &ThreadRow::loop);
}

/// Adaptive average poolings of 16 bits: a block of 32 x 8 threads for each
/// plane, of which one for each result adds to the elements of its window, one
/// after the other.
double AddedWindowsUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kBlock = 256, kAdditionCycles = 750;
  const bool adds = kernel.loop == ElementLoop::kAdaptivePoolGradient &&
                    IsOf16Bits(kernel) && !kernel.channels_last;
  return adds ? BlocksUs(Real(kernel.row_step), kBlock,
                         kAdditionCycles * Real(kernel.row_elements), machine)
              : 0;
}

double ThreadsOfGradientUs(const Kernel& kernel, const Machine& machine) {
  const ThreadRow& row = ThreadRowOf(kernel);
  const double cycles = Real(kernel.rows) *
                        (row.start + row.element * Real(kernel.row_elements)) *
                        (IsOf16Bits(kernel) ? row.half : 1);
  const double threads_us =
      SharedUs(cycles, machine) / PlacesShare(kernel, machine);
  const double added_us = AddedWindowsUs(kernel, machine);
  const double fill_us =
      row.fills ? BytesUs(Real(kernel.bytes_out), kFillShare, machine) : 0;
  return fill_us +
         std::max({threads_us, added_us,
                   BytesUs(Real(kernel.Bytes()), kStreamShare, machine)});
}

/// Gradients of a layer norm's weights: a block of 32 x 32 threads for 32
/// columns goes down all rows, unless there are many and few columns
/// (LaunchGammaBetaBackwardCUDAKernel).
double LayerNormWeightsUs(const Kernel& kernel, double traffic_us,
                          const Machine& machine) {
  constexpr double kColumns = 32, kPairsPerCycle = 4.2, kManyRows = 64 * 1024;
  constexpr double kSumsUs = 16;
  constexpr TorchVersion kDividesRows = {.major = 2, .minor = 8};
  const double blocks = std::ceil(Real(kernel.row_elements) / kColumns);
  const bool divides = kernel.torch >= kDividesRows &&
                       Real(kernel.rows) > kManyRows &&
                       blocks < machine.sms / 2.0;
  if (divides) return traffic_us + kSumsUs;
  const double cycles = Real(kernel.rows) * kColumns / kPairsPerCycle;
  return std::max(traffic_us, std::max(1.0, blocks / machine.sms) * cycles /
                                  machine.CyclesPerUs());
}

/// A block of 128 threads for each row goes over it twice, 4 elements per
/// thread and step; what it reads the second time hits the L2 cache as far as
/// the rows of all blocks fit.
double LayerNormGradientUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kThreads = 128, kVector = 4, kStartCycles = 1400,
                   kStepCycles = 1900, kReadTwice = 2.0 / 3, kHitsUntil = 0.25,
                   kMissesFrom = 1.0;
  const double bytes = Real(kernel.Bytes());
  const double resident = machine.sms * machine.device->ThreadsPerSm() /
                          kThreads * Real(kernel.row_elements) * 2 *
                          Real(kernel.element_bytes_in);
  const double misses =
      std::clamp((resident / CacheBytes(machine) - kHitsUntil) /
                     (kMissesFrom - kHitsUntil),
                 0.0, 1.0);
  const double steps =
      std::ceil(Real(kernel.row_elements) / (kThreads * kVector));
  const double input_us = std::max(
      BytesUs(bytes * (1 + misses * kReadTwice), kStreamShare, machine),
      BlocksUs(Real(kernel.rows), kThreads, kStartCycles + steps * kStepCycles,
               machine));
  if (!kernel.variant) return input_us;
  return input_us +
         LayerNormWeightsUs(kernel,
                            BytesUs(bytes * kReadTwice, kStreamShare, machine),
                            machine);
}

/// Sums by a block of 512 threads for each channel of each image, then an
/// element-wise kernel. Vectors have kernels of their own.
double GroupNormGradientUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kThreads = 512, kStartCycles = 2450, kStepCycles = 928,
                   kElementCycles = 0.92, kVectorCycles = 9, kSummed = 2.0 / 3;
  const double bytes = Real(kernel.Bytes());
  const double elements = Real(kernel.rows) * Real(kernel.row_elements);
  if (kernel.row_elements <= 1) {
    return SharedUs(elements * kVectorCycles, machine);
  }
  const double steps = std::ceil(Real(kernel.row_elements) / kThreads);
  return std::max(BytesUs(bytes * kSummed, kStreamShare, machine),
                  BlocksUs(Real(kernel.rows), kThreads,
                           kStartCycles + steps * kStepCycles, machine)) +
         std::max(BytesUs(bytes, kStreamShare, machine),
                  SharedUs(elements * kElementCycles, machine));
}

/// A block of 512 threads for each channel reads both operands for the sums and
/// once more for the result; PyTorch's in 16 bits, else cuDNN's. Matrices and
/// channels-last images have kernels that take several channels at a time.
double BatchNormGradientUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kThreads = 512, kStepCycles = 1500, kHalfStepCycles = 1700,
                   kStartCycles = 7500, kHalfStartCycles = 3100,
                   kPasses = 5.0 / 3, kHalfShare = 0.62;
  const bool is_half = IsOf16Bits(kernel);
  const double traffic_us =
      BytesUs(Real(kernel.Bytes()) * kPasses,
              is_half ? kHalfShare : kStreamShare, machine);
  if (kernel.inner_extent <= 1 || kernel.channels_last) return traffic_us;
  const double steps = std::ceil(Real(kernel.row_elements) / kThreads);
  return std::max(traffic_us,
                  BlocksUs(Real(kernel.rows), kThreads,
                           is_half ? kHalfStartCycles + steps * kHalfStepCycles
                                   : kStartCycles + steps * kStepCycles,
                           machine));
}

/// Along another dimension than the last: a thread for each neighbour goes over
/// its elements twice, as in the forward pass.
double SpatialGradientUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kStepCycles = 1031, kElementCycles = 1.25, kShare = 0.55;
  const double elements = Real(kernel.rows) * Real(kernel.row_elements);
  const SpatialBlocks blocks = SpatialBlocksOf(kernel);
  return std::max({BytesUs(Real(kernel.Bytes()), kShare, machine),
                   SharedUs(elements * kElementCycles, machine),
                   BlocksUs(blocks.count, blocks.threads,
                            blocks.steps * kStepCycles, machine)});
}

/// A warp has a row of up to 1,024 elements, a block a longer one, which it
/// keeps in shared memory if it fits; else it reads it twice.
double SoftmaxGradientUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kWarpRow = 1024, kWarpElementCycles = 0.55,
                   kSharedBytes = 48 * 1024, kShare = 0.92, kTwiceShare = 0.68;
  if (kernel.row_step > 1) return SpatialGradientUs(kernel, machine);
  const double row = Real(kernel.row_elements);
  const bool is_kept =
      row <= kWarpRow || row * Real(kernel.element_bytes_in) < kSharedBytes;
  const double traffic_us =
      BytesUs(Real(kernel.Bytes()), is_kept ? kShare : kTwiceShare, machine);
  if (row > kWarpRow) return traffic_us;
  return std::max(
      traffic_us,
      SharedUs(Real(kernel.rows) * row * kWarpElementCycles, machine));
}

}  // namespace

double GradientUs(const Kernel& kernel, const Machine& machine) {
  switch (kernel.loop) {
    case ElementLoop::kLayerNormGradient:
      return LayerNormGradientUs(kernel, machine);
    case ElementLoop::kGroupNormGradient:
      return GroupNormGradientUs(kernel, machine);
    case ElementLoop::kBatchNormGradient:
      return BatchNormGradientUs(kernel, machine);
    case ElementLoop::kSoftmaxGradient:
      return SoftmaxGradientUs(kernel, machine);
    default:
      return ThreadsOfGradientUs(kernel, machine);
  }
}

}  // namespace foretell::cost
