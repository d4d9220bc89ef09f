#include "src/cost/thread_loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "src/core/units.h"
#include "src/cost/pool_time.h"
#include "src/cost/roofline.h"
#include "src/kernels/reduce_config.h"

// Kernels that neither a product nor their traffic keeps busy. Two kinds:
//
//   threads   each thread computes one result; what counts is instructions:
//             cycles = threads x (start + elements of a window x each) / SMs
//   blocks    a block of threads goes along a row step by step, and waits in
//             each for what it has loaded or for what the step before found:
//             cycles = waves of blocks x (start + steps x each)
//
// Which of them, with how many threads, is read off PyTorch's source
// (aten/src/ATen/native/cuda); the cycles are fitted to an H100's operators
// (datasets/labels/h100-sxm5-80gb/kinds.jsonl.gz). FlagPerf's group norms on an
// A100 need as many cycles per step, at another clock.

namespace foretell::cost {
namespace {

/// Per element of an element-wise kernel that computes addresses
/// (OffsetCalculator); of one that reads across memory.
constexpr double kStridedCycles = 0.6;
constexpr double kTransposedCycles = 1.87;
/// Of a concatenation of operands with gaps.
constexpr double kStridedConcatCycles = 1.1;
/// Per random number.
constexpr double kRandomCycles = 0.41;

constexpr double kBlockThreads = 512;

/// Steps in which a block of kBlockThreads goes over a row.
double StepsOf(const Kernel& kernel) {
  return std::ceil(Real(kernel.row_elements) / kBlockThreads);
}

/// Of a copy or element-wise kernel whose operands do not lie as its result.
double StridedUs(const Kernel& kernel, const Machine& machine) {
  const bool is_random = kernel.kernel_class == KernelClass::kRandom;
  const bool is_strided = kernel.mixed_layouts || kernel.variant || is_random;
  if (!is_strided || kernel.element_bytes_out == 0) return 0;
  const double elements = Real(kernel.bytes_out / kernel.element_bytes_out);
  const double each = is_random           ? kRandomCycles
                      : kernel.transposes ? kTransposedCycles
                      : kernel.kernel_class == KernelClass::kConcat
                          ? kStridedConcatCycles
                          : kStridedCycles;
  return ThreadsUs(elements, 0, {each, 0}, machine);
}

/// By ElementLoop, in its order.
// clang-format off
constexpr ThreadCycles kElementLoops[] = {
    {0, 0},     // kNone
    {0.68, 0},  // kUnrolled
    {0.6, 0},   // kIndexed
    {0.75, 0},  // kShuffled
    {0.56, 0},  // kNearest
    {1.0, 0},   // kAddressed
    {1.36, 0},  // kReflected
    {0, 2.1},   // kFolded
    {0, 3.9},   // kSampled
    {5.5, 0},   // kGathered
    {1.9, 0},   // kAtomic
    {0.53, 0},  // kBagged
    {1.6, 0},   // kRowByRow; Liger's on an A100 and an H100
    {0, 0.2},   // kGenerated, of the windows inside
};
// clang-format on
static_assert(std::size(kElementLoops) ==
              static_cast<std::size_t>(ElementLoop::kPicked));

/// One block waits for the elements that its threads read at a time, from the
/// cache or from memory (KernelBench on A100 and H100).
double PickedUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kCachedCycles = 600, kMissedCycles = 1500;
  const double bytes = Real(kernel.rows) * Real(kernel.row_elements) *
                       Real(kernel.inner_extent) *
                       Real(kernel.element_bytes_in);
  const double cache = machine.device->l2_mib * kMiB * machine.share;
  return Real(kernel.row_elements) *
         (bytes <= cache ? kCachedCycles : kMissedCycles) /
         machine.CyclesPerUs();
}

double ElementLoopUs(const Kernel& kernel, const Machine& machine) {
  const bool sums = kernel.kernel_class == KernelClass::kReduce;
  if (kernel.loop == ElementLoop::kGenerated && sums) return 0;
  if (kernel.loop == ElementLoop::kPicked) return PickedUs(kernel, machine);
  const ThreadCycles& cycles =
      kElementLoops[static_cast<std::size_t>(kernel.loop)];
  return ThreadsUs(Real(kernel.rows), Real(kernel.row_elements), cycles,
                   machine);
}

/// A block of 128 threads has a row of a layer norm and takes 4 elements per
/// thread and step; both of its passes. Rows that are no vectors have a kernel
/// of their own for their moments, by a block of 512 threads
/// (RowwiseMomentsCUDAKernel).
double LayerNormUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kThreads = 128, kVector = 4, kStepCycles = 2050,
                   kMomentsStart = 4100, kMomentsCycles = 815;
  if (kernel.row_elements % static_cast<std::int64_t>(kVector) != 0) {
    return BlocksUs(Real(kernel.rows), kBlockThreads,
                    kMomentsStart + StepsOf(kernel) * kMomentsCycles, machine);
  }
  const double steps =
      std::ceil(Real(kernel.row_elements) / (kThreads * kVector));
  return BlocksUs(Real(kernel.rows), kThreads, steps * kStepCycles, machine);
}

/// Welford's means by a block per group of an image or channel.
double MomentsUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kStepCycles = 815;
  return BlocksUs(Real(kernel.rows), kBlockThreads,
                  StepsOf(kernel) * kStepCycles, machine);
}

/// Group norm: what fills the GPU, two of three passes over the elements, comes
/// after the moments.
double GroupNormUs(const Kernel& kernel, const Machine& machine,
                   double traffic_us) {
  constexpr double kFillingPasses = 2.0 / 3;
  return MomentsUs(kernel, machine) + kFillingPasses * traffic_us;
}

/// Statistics of a batch norm. In 16 bits PyTorch computes them; else cuDNN
/// does, and writes the results in the same kernel; returns what its time
/// exceeds the traffic of those, two passes, by.
double StatisticsUs(const Kernel& kernel, const Machine& machine,
                    double traffic_us) {
  constexpr double kCudnnStepCycles = 563, kOtherPasses = 2;
  if (kernel.element_bytes_in == kHalfElementBytes) {
    return MomentsUs(kernel, machine);
  }
  return BlocksUs(Real(kernel.rows), machine.device->ThreadsPerSm(),
                  StepsOf(kernel) * kCudnnStepCycles, machine) -
         kOtherPasses * traffic_us;
}

/// Of a batch norm whose statistics are known by now. Hopper's are fitted to
/// those of stock networks on an H100 (operators_fp32.csv.gz and
/// operators_bf16.csv.gz in datasets/labels), and hold in training only in 16
/// bits, where the statistics have a kernel of their own.
double PlaneElementCycles(const Kernel& kernel, const Machine& machine) {
  constexpr double kCycles = 0.6, kHopperCycles = 0.88,
                   kHopperHalfCycles = 0.62, kHopperSmallCycles = 0.84,
                   kSmallPlane = 64 * 64;
  if (!machine.HasNewerTensorCores()) return kCycles;
  if (kernel.element_bytes_out != kHalfElementBytes) {
    return kernel.variant ? kCycles : kHopperCycles;
  }
  return Real(kernel.inner_extent) <= kSmallPlane ? kHopperSmallCycles
                                                  : kHopperHalfCycles;
}

/// Batch norm with known statistics: a block per plane of the image, at least
/// 64 threads (batch_norm_transform_input_kernel).
double PlanesUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kLeastCycles = 150;
  if (kernel.channels_last) return 0;
  const double elements = Real(kernel.bytes_out / kernel.element_bytes_out);
  const double plane = Real(kernel.inner_extent);
  const double cycles = plane * PlaneElementCycles(kernel, machine);
  return elements / plane * std::max(kLeastCycles, cycles) /
         (machine.CyclesPerUs() * machine.sms);
}

/// Softmax along another dimension than the last goes over its elements three
/// times. Blocks of few threads only wait for memory; registers leave a
/// multiprocessor room for a single block of 1,024 threads.
double SpatialSoftmaxUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kStepCycles = 2420, kFewThreads = 256, kFewStepCycles = 1300;
  constexpr double kLongRow = 32, kElementCycles = 1.5, kLongCycles = 2.6,
                   kHalfCycles = 1.4, kLongHalfCycles = 1.75;
  const SpatialBlocks blocks = SpatialBlocksOf(kernel);
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  const bool is_long = Real(kernel.row_elements) >= kLongRow;
  const double each = is_half ? (is_long ? kLongHalfCycles : kHalfCycles)
                              : (is_long ? kLongCycles : kElementCycles);
  const double elements = Real(kernel.rows) * Real(kernel.row_elements);
  const double step =
      blocks.threads < kFewThreads ? kFewStepCycles : kStepCycles;
  return std::max(
      ThreadsUs(elements, 0, {each, 0}, machine),
      BlocksUs(blocks.count, blocks.threads, blocks.steps * step, machine));
}

/// Longest row of a softmax that a warp has, and the most threads of a block.
constexpr std::int64_t kSoftmaxBlock = 1024;
constexpr double kWarpLanes = 32;

/// Returns the least power of two that is not below `count` (>= 0).
double PowerOfTwo(std::int64_t count) {
  return static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(count)));
}

/// Threads of a block that has a row of a softmax: 4 elements each in PyTorch;
/// in ONNX Runtime half as many as there are vectors of 16 bytes, rounded up to
/// a power of two (SoftMax_getBlockSize in softmax_blockwise_impl.cuh).
double SoftmaxThreads(const Kernel& kernel) {
  constexpr std::int64_t kElements = 4, kVectorBytes = 16;
  const std::int64_t length = kernel.row_elements;
  if (!kernel.variant) return Real(std::min(kSoftmaxBlock, length / kElements));
  const std::int64_t vectors = length * kernel.element_bytes_in / kVectorBytes;
  return std::max(kWarpLanes, PowerOfTwo(std::min(kSoftmaxBlock, vectors) / 2));
}

/// Softmax along the last dimension. Up to 1,024 elements, rounded up to a
/// power of two, a warp has a row, or as many rows as its lanes hold
/// (softmax_warp_forward); longer rows have a block.
double SoftmaxUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kRowCycles = 15, kElementCycles = 0.33, kThreadCycles = 6.8;
  if (kernel.row_step > 1) return SpatialSoftmaxUs(kernel, machine);
  if (kernel.row_elements > kSoftmaxBlock) {
    const double threads = SoftmaxThreads(kernel);
    return BlocksUs(Real(kernel.rows), threads, threads * kThreadCycles,
                    machine);
  }
  const double padded = PowerOfTwo(kernel.row_elements);
  const double warp = std::min(1.0, padded / kWarpLanes);
  return ThreadsUs(Real(kernel.rows), padded,
                   {kRowCycles * warp, kElementCycles}, machine);
}

/// Threads of a block along a row of a scan, as their logarithm
/// (get_log_num_threads_x_inner_scan in
/// aten/src/ATen/native/cuda/ScanUtils.cuh); its unsigned difference wraps
/// where there are far more rows than elements, and then takes the most.
int LogScanThreads(std::int64_t rows, std::int64_t elements) {
  constexpr int kLogBlock = 9, kLeast = 4;
  const auto log = [](std::int64_t n) {
    return static_cast<int>(std::bit_width(
        static_cast<std::uint64_t>(std::max<std::int64_t>(1, n)) - 1));
  };
  const int twice = kLogBlock + log(elements) - log(rows);
  return twice < 0 ? kLogBlock : std::clamp(twice / 2, kLeast, kLogBlock);
}

/// Cumulative sums and their like.
double ScanUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kChunkCycles = 1350, kLeastChunkCycles = 2850,
                   kOuterStepCycles = 754, kDoubleCost = 2;
  const double step = Real(kernel.row_step);
  if (step > 1) {
    const double threads = std::min(step, kBlockThreads);
    const double blocks = Real(kernel.rows) / step * std::ceil(step / threads);
    return BlocksUs(blocks, threads,
                    Real(kernel.row_elements) * kOuterStepCycles, machine);
  }
  const double along =
      std::exp2(LogScanThreads(kernel.rows, kernel.row_elements));
  const double chunks = std::ceil(Real(kernel.row_elements) / (2 * along));
  const double blocks = std::ceil(Real(kernel.rows) * along / kBlockThreads);
  const double cycles =
      std::max(kLeastChunkCycles, blocks / machine.sms * kChunkCycles);
  return (kernel.variant ? kDoubleCost : 1) * chunks * cycles /
         machine.CyclesPerUs();
}

/// Sorts go over their elements several times; of the largest elements alone,
/// a block selects those of a row (sbtopk::gatherTopK).
double SortUs(const Kernel& kernel, const Machine& machine) {
  constexpr ThreadCycles kSort = {0, 10}, kTopK = {550, 2.8};
  return ThreadsUs(Real(kernel.rows), Real(kernel.row_elements),
                   kernel.variant ? kTopK : kSort, machine);
}

/// A recurrent layer whose weights stay on chip goes from step to step
/// (RNN_blockPersist_fp_LSTM).
double PersistentLayerUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kStepCycles = 3600;
  return Real(kernel.row_elements) * kStepCycles / machine.CyclesPerUs();
}

/// Sums along the last dimension: a block takes rows that are shorter than a
/// warp side by side.
double SumUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kBlockCycles = 3700;
  if (!kernel.variant) return 0;
  const ReduceConfig config =
      ConfigureReduction({.outputs = kernel.rows,
                          .inputs = kernel.row_elements,
                          .reduces_fastest = true},
                         machine.sms, machine.device->ThreadsPerSm());
  const double waves =
      Waves(Real(config.grid), Real(kReductionThreads), machine);
  return waves > 1 ? waves * kBlockCycles / machine.CyclesPerUs() : 0;
}

}  // namespace

double Waves(double blocks, double threads, const Machine& machine) {
  const double resident =
      machine.sms *
      std::max(1.0, std::floor(machine.device->ThreadsPerSm() / threads));
  return std::max(1.0, blocks / resident);
}

double BlocksUs(double blocks, double threads, double cycles,
                const Machine& machine) {
  return Waves(blocks, threads, machine) * cycles / machine.CyclesPerUs();
}

double ThreadsUs(double threads, double elements, const ThreadCycles& cycles,
                 const Machine& machine) {
  constexpr double kHopperLanes = 128;
  const double each = cycles.element * kHopperLanes / machine.LanesPerSm();
  return threads * (cycles.start + elements * each) /
         (machine.CyclesPerUs() * machine.sms);
}

SpatialBlocks SpatialBlocksOf(const Kernel& kernel) {
  constexpr double kMostThreads = 1024, kShared = 64;
  const double step = Real(kernel.row_step);
  const double length = Real(kernel.row_elements);
  const double neighbours = std::min(step, kMostThreads);
  double shares = 1;
  if (neighbours <= kShared && length >= kShared) {
    while (neighbours * shares <= kMostThreads && shares <= length) shares *= 2;
    shares /= 2;
  }
  return {.count = Real(kernel.rows) / step * std::ceil(step / neighbours),
          .threads = neighbours * shares,
          .steps = std::ceil(length / shares)};
}

double LoopUs(const Kernel& kernel, const Machine& machine, double traffic_us) {
  if (kernel.loop != ElementLoop::kNone) return ElementLoopUs(kernel, machine);
  const bool has_rows = kernel.rows > 0 && kernel.row_elements > 0;
  if (!has_rows) return StridedUs(kernel, machine);
  switch (kernel.kernel_class) {
    case KernelClass::kAveragePool:
    case KernelClass::kMaxPool:
      return PoolUs(kernel, machine);
    case KernelClass::kLayerNorm:
      return LayerNormUs(kernel, machine);
    case KernelClass::kGroupNorm:
      return GroupNormUs(kernel, machine, traffic_us);
    case KernelClass::kBatchNorm:
      if (kernel.inner_extent <= 1) return 0;  // Matrices have kernels apart.
      return kernel.bytes_out == 0 ? StatisticsUs(kernel, machine, traffic_us)
                                   : PlanesUs(kernel, machine);
    case KernelClass::kSoftmax:
      return SoftmaxUs(kernel, machine);
    case KernelClass::kScan:
      return ScanUs(kernel, machine);
    case KernelClass::kSort:
      return SortUs(kernel, machine);
    case KernelClass::kLinear:
      return PersistentLayerUs(kernel, machine);
    case KernelClass::kReduce:
      return SumUs(kernel, machine);
    default:
      return StridedUs(kernel, machine);
  }
}

double DirectLoopUs(const Kernel& kernel, const Machine& machine) {
  constexpr double kMacCycles = 0.18, kHopperMacCycles = 0.25;
  const bool is_strided =
      kernel.kernel_class == KernelClass::kTransposedConvolution &&
      kernel.groups > 1 && kernel.stride > 1 &&
      kernel.window_height != kernel.window_width;
  const bool is_pointwise =
      kernel.kernel_class == KernelClass::kGroupedConvolution &&
      kernel.k * kernel.groups == kernel.channels_in && !kernel.channels_last &&
      kernel.torch < kCudnn910;
  const bool is_direct = (is_strided || is_pointwise) &&
                         kernel.pass == ProductPass::kForward &&
                         kernel.element_bytes_in > kHalfElementBytes;
  if (!is_direct) return 0;
  const double each =
      machine.HasNewerTensorCores() ? kHopperMacCycles : kMacCycles;
  return ThreadsUs(Real(kernel.macs), 0, {each, 0}, machine);
}

}  // namespace foretell::cost
