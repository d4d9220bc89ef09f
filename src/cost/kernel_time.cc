#include "src/cost/kernel_time.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "src/cost/gemm.h"
#include "src/cost/roofline.h"

// How long a kernel takes: launching it, then the longer of its product and its
// traffic.
//
//   convolution         implicit matrix product, groups as batch
//   depthwise           FP32 lanes, no reuse
//   linear, matmul …    matrix product
//   fused attention     blocks of 128 queries over the SMs; the efficiency
//                       grows with the number of keys
//   everything else     traffic alone
//
// A class of kernels has two numbers: the share of the bandwidth at which its
// operands and results move, each counted once, and the share of the tiled
// estimate at which its products run.

namespace foretell::cost {
namespace {

/// Shortest time of a kernel in a queue that never runs dry: 2.4 us for the
/// shortest measured ones on A100, 4.7 us fitted to matrix products.
constexpr double kKernelFloorUs = 3.0;

/// Prefill attention on A100 (scripts/published/fit_cost_table.py):
/// efficiency = 0.62 * keys / (keys + 250).
constexpr double kAttentionEfficiency = 0.62;
constexpr double kAttentionHalfKeys = 250;
constexpr double kAttentionQueryBlock = 128;
constexpr double kCausalShare = 0.5;
/// cuDNN's TF32 kernels want channels innermost: what lies otherwise is copied
/// on the way in and on the way out. Share of the images for which that was
/// seen in published A100 latencies of whole convolutional networks.
constexpr double kConvertedShare = 0.5;
constexpr double kConversionBandwidthShare = 0.8;

/// Share of the tiled estimate that FP32 convolutions of 3 x 3 at stride 1
/// reach before TF32: cuDNN's Winograd kernels save multiplications. DeepBench
/// on V100 and P100 (scripts/published/fit_cost_table.py).
constexpr double kWinogradShare = 1.8;
constexpr std::int64_t kWinogradWindow = 3;

struct ClassCost {
  KernelClass kernel_class;
  double bandwidth_share;
  double product_share;
};

// clang-format off

/// By KernelClass, in its order.
constexpr ClassCost kClassCosts[] = {
    // class                                bandwidth product
    {KernelClass::kPointwiseConvolution,   0.70, 0.80},
    {KernelClass::kDenseConvolution,       0.70, 0.80},
    {KernelClass::kStemConvolution,        0.70, 0.80},
    {KernelClass::kGroupedConvolution,     0.70, 0.80},
    {KernelClass::kDepthwiseConvolution,   0.70, 0.05},
    {KernelClass::kNativeDepthwise,        0.70, 1.00},
    {KernelClass::kTransposedConvolution,  0.60, 0.80},
    {KernelClass::kLinear,                 0.70, 1.00},
    {KernelClass::kMatmul,                 0.70, 1.00},
    {KernelClass::kFloatMatmul,            0.61, 1.00},
    {KernelClass::kAttention,              0.70, 1.00},
    {KernelClass::kBatchNorm,              0.75, 1.00},
    {KernelClass::kFoldedBatchNorm,        0.75, 1.00},
    {KernelClass::kLayerNorm,              0.59, 1.00},
    {KernelClass::kGroupNorm,              0.50, 1.00},
    {KernelClass::kSoftmax,                0.66, 1.00},
    {KernelClass::kRelu,                   0.87, 1.00},
    {KernelClass::kGelu,                   0.89, 1.00},
    {KernelClass::kSilu,                   0.87, 1.00},
    {KernelClass::kActivation,             0.87, 1.00},
    {KernelClass::kAdd,                    0.87, 1.00},
    {KernelClass::kMultiply,               0.87, 1.00},
    {KernelClass::kElementwise,            0.83, 1.00},
    {KernelClass::kReduce,                 0.90, 1.00},
    {KernelClass::kAveragePool,            0.60, 1.00},
    {KernelClass::kMaxPool,                0.60, 1.00},
    {KernelClass::kCopy,                   0.60, 1.00},
    {KernelClass::kHiddenCopy,             0.60, 1.00},
    {KernelClass::kConcat,                 0.70, 1.00},
    {KernelClass::kPad,                    0.60, 1.00},
    {KernelClass::kGather,                 0.50, 1.00},
    {KernelClass::kUpsample,               0.50, 1.00},
    {KernelClass::kCastDown,               0.87, 1.00},
    {KernelClass::kCastUp,                 0.87, 1.00},
    {KernelClass::kCastWeight,             0.87, 1.00},
    {KernelClass::kOther,                  0.50, 1.00},
    {KernelClass::kAttentionBackward,      0.60, 1.00},
    {KernelClass::kNormBackward,           0.50, 1.00},
    {KernelClass::kPoolBackward,           0.45, 1.00},
    {KernelClass::kUpsampleBackward,       0.30, 1.00},
    {KernelClass::kEmbeddingBackward,      0.20, 1.00},
    {KernelClass::kRecurrent,              0.50, 1.00},
    {KernelClass::kSort,                   0.05, 1.00},
    {KernelClass::kScan,                   0.40, 1.00},
    {KernelClass::kFill,                   0.87, 1.00},
    {KernelClass::kRandom,                 0.60, 1.00},
    {KernelClass::kFft,                    0.40, 1.00},
    {KernelClass::kDetection,              0.10, 1.00},
    {KernelClass::kLoss,                   0.50, 1.00},
    {KernelClass::kOptimizer,              0.75, 1.00},
};
// clang-format on
static_assert(std::size(kClassCosts) == kNumKernelClasses);
static_assert(std::ranges::is_sorted(kClassCosts, {},
                                     &ClassCost::kernel_class));

const ClassCost& CostOf(KernelClass kernel_class) {
  return kClassCosts[static_cast<std::size_t>(kernel_class)];
}

/// Whether cuDNN takes a Winograd kernel: matrix units have none.
bool IsWinograd(const Kernel& kernel, const Machine& machine) {
  return kernel.arithmetic == Precision::kTf32 && !machine.HasTf32Units() &&
         kernel.groups == 1 && kernel.stride == 1 &&
         kernel.window_height == kWinogradWindow &&
         kernel.window_width == kWinogradWindow;
}

/// Share of its peak that fused attention reaches.
double AttentionEfficiency(const Kernel& kernel, const Machine& machine) {
  const double blocks =
      std::ceil(Real(kernel.batch) * Real(kernel.m) / kAttentionQueryBlock);
  const double waves = std::ceil(blocks / machine.sms);
  const double occupancy = blocks / (waves * machine.sms);
  const double keys = Real(kernel.n);
  return kAttentionEfficiency * keys / (keys + kAttentionHalfKeys) * occupancy;
}

/// Time of the product; a kernel whose sizes are unknown runs at the peak.
double ProductUs(const Kernel& kernel, double at_peak_us,
                 const Machine& machine) {
  const double share = IsWinograd(kernel, machine)
                           ? kWinogradShare
                           : CostOf(kernel.kernel_class).product_share;
  if (IsDepthwise(kernel.kernel_class)) return at_peak_us / share;
  const GemmShape shape = {Real(kernel.batch), Real(kernel.m), Real(kernel.n),
                           Real(kernel.k)};
  if (!(shape.Macs() > 0)) return at_peak_us / share;
  if (IsAttention(kernel.kernel_class)) {
    return at_peak_us / AttentionEfficiency(kernel, machine);
  }
  const MatrixUnit unit = kernel.arithmetic == Precision::kFp32
                              ? MatrixUnit::kSimt
                              : MatrixUnit::kTensorCore;
  return GemmUs(shape, unit, PeakFlopsPerUs(kernel, machine), machine) / share;
}

/// Time of the copies into another layout and back that cuDNN makes of the
/// images of a TF32 convolution.
double ConversionUs(const Kernel& kernel, const Machine& machine) {
  if (kernel.groups == 0 || kernel.channels_last ||
      kernel.arithmetic != Precision::kTf32 || !machine.HasTf32Units()) {
    return 0;
  }
  const double bytes = 2 * Real(kernel.bytes_in + kernel.bytes_out);
  return kConvertedShare * bytes / machine.bytes_per_us /
         kConversionBandwidthShare;
}

}  // namespace

double KernelTime::Us() const {
  return launch_us + conversion_us + std::max(arithmetic_us, memory_us);
}

KernelTime TimeOf(const Kernel& kernel, const Machine& machine) {
  const KernelRoofline roofline = RooflineOf(kernel, machine);
  KernelTime time = {.launch_us = Real(kernel.launches) * kKernelFloorUs,
                     .traffic_us = roofline.memory_us};
  time.memory_us =
      std::max(roofline.memory_us / CostOf(kernel.kernel_class).bandwidth_share,
               roofline.serial_us);
  time.conversion_us = ConversionUs(kernel, machine);
  if (kernel.macs == 0) return time;
  time.at_peak_us = roofline.arithmetic_us * (kernel.causal ? kCausalShare : 1);
  time.arithmetic_us = ProductUs(kernel, time.at_peak_us, machine);
  return time;
}

}  // namespace foretell::cost
