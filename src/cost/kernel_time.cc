#include "src/cost/kernel_time.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "src/cost/attention_time.h"
#include "src/cost/depthwise.h"
#include "src/cost/direct_convolution.h"
#include "src/cost/float_convolution.h"
#include "src/cost/gemm.h"
#include "src/cost/gradient_time.h"
#include "src/cost/native_depthwise.h"
#include "src/cost/padded.h"
#include "src/cost/padded_convolution.h"
#include "src/cost/roofline.h"
#include "src/cost/row_passes.h"
#include "src/cost/strided_gradient.h"
#include "src/cost/tensor_convolution.h"
#include "src/cost/thread_loops.h"
#include "src/cost/winograd.h"
#include "src/device/compute_capability.h"

// How long a kernel takes: launching it, then the longer of its product and its
// traffic.
//
//   convolution         implicit matrix product, groups as batch; on FP32 lanes
//                       in kernels of its own (float_convolution.cc), on
//                       tensor cores with copies (tensor_convolution.cc)
//   depthwise           FP32 lanes; cuDNN's kernel in turn with its traffic
//                       (depthwise.cc); PyTorch's own (native_depthwise.cc)
//   linear, matmul …    matrix product
//   fused attention     blocks of queries over the SMs (attention_time.cc)
//   layer norm, softmax  traffic of every pass that misses the cache
//   everything else     traffic alone
//
// A class of kernels has one number: the share of the bandwidth at which its
// operands and results move, each counted once.

namespace foretell::cost {
namespace {

/// Time of a product until its first tiles are loaded, or as long as its work
/// if that is less; published BF16 products on A100.
constexpr double kProductStartUs = 2.5;

/// The same of Hopper's kernels in 16 bits, which fetch tiles while they are
/// set up, and the share of the bandwidth at which they move bytes: fitted to
/// products of an H100 (kinds.jsonl.gz, drawn.jsonl.gz). A share of 0.88 fits
/// them as well; published serving chose (score_serving.py).
constexpr double kWarpgroupStartUs = 0.5;
constexpr double kWarpgroupShare = 0.80;
/// The first version whose binaries have the cuBLAS of CUDA 12.8.
/// aiconfigurator publishes such products of an H100 with PyTorch 2.9; those of
/// vidur, of 2024, are slower.
constexpr TorchVersion kWarpgroupTorch = {.major = 2, .minor = 8};

/// The same of the kernels of a recurrent layer's steps, which cuDNN queues one
/// after the other: layers of PyTorch on an H100 (kinds.jsonl.gz).
constexpr double kStepFloorUs = 2.5;
constexpr double kStepProductStartUs = 0.5;

/// Of a copy that keeps the order of the elements.
constexpr double kDenseCopyShare = 0.87;

/// Of average poolings whose images lie channels-last, on the one GPU of which
/// there are labels (RTX 3090).
constexpr double kChannelsLastPoolShare = 0.40;

/// Of kernels that a compiler generated: networks of pytorch-image-models under
/// torch.compile on an RTX 4090, a 5090 and a PRO 6000 (PyTorch 2.9).
constexpr double kGeneratedShare = 0.93;

/// Of batch norms with the statistics of the batch; without, they move bytes as
/// element-wise kernels do.
constexpr double kTrainingNormShare = 0.75;

/// Of convolutions that run as products for each image, as they lie.
constexpr double kImageProductShare = 0.84;

struct ClassCost {
  KernelClass kernel_class;
  double bandwidth_share;
};

// clang-format off

/// By KernelClass, in its order.
constexpr ClassCost kClassCosts[] = {
    // class                                bandwidth
    {KernelClass::kPointwiseConvolution,   0.70},
    {KernelClass::kDenseConvolution,       0.70},
    {KernelClass::kStemConvolution,        0.70},
    {KernelClass::kGroupedConvolution,     0.70},
    {KernelClass::kDepthwiseConvolution,   0.70},
    {KernelClass::kNativeDepthwise,        0.70},
    {KernelClass::kTransposedConvolution,  0.60},
    {KernelClass::kLinear,                 0.74},
    {KernelClass::kMatmul,                 0.74},
    {KernelClass::kFloatMatmul,            0.61},
    {KernelClass::kAttention,              0.70},
    {KernelClass::kBatchNorm,              0.87},
    {KernelClass::kFoldedBatchNorm,        0.87},
    {KernelClass::kLayerNorm,              0.88},
    {KernelClass::kGroupNorm,              0.50},
    {KernelClass::kSoftmax,                0.80},
    {KernelClass::kRelu,                   0.87},
    {KernelClass::kGelu,                   0.89},
    {KernelClass::kSilu,                   0.87},
    {KernelClass::kActivation,             0.87},
    {KernelClass::kAdd,                    0.87},
    {KernelClass::kMultiply,               0.87},
    {KernelClass::kElementwise,            0.83},
    {KernelClass::kReduce,                 0.90},
    {KernelClass::kAveragePool,            0.85},
    {KernelClass::kMaxPool,                0.85},
    {KernelClass::kCopy,                   0.75},
    {KernelClass::kHiddenCopy,             0.75},
    {KernelClass::kConcat,                 0.87},
    {KernelClass::kPad,                    0.60},
    {KernelClass::kGather,                 0.75},
    {KernelClass::kUpsample,               0.50},
    {KernelClass::kCastDown,               0.87},
    {KernelClass::kCastUp,                 0.87},
    {KernelClass::kCastWeight,             0.87},
    {KernelClass::kOther,                  0.50},
    {KernelClass::kAttentionBackward,      0.60},
    {KernelClass::kNormBackward,           0.50},
    {KernelClass::kPoolBackward,           0.45},
    {KernelClass::kUpsampleBackward,       0.30},
    {KernelClass::kEmbeddingBackward,      0.20},
    {KernelClass::kRecurrent,              0.50},
    {KernelClass::kSort,                   0.75},
    {KernelClass::kScan,                   0.75},
    {KernelClass::kFill,                   0.87},
    {KernelClass::kRandom,                 0.78},
    {KernelClass::kFft,                    0.40},
    {KernelClass::kDetection,              0.10},
    {KernelClass::kLoss,                   0.50},
    {KernelClass::kOptimizer,              0.75},
};
// clang-format on
static_assert(std::size(kClassCosts) == kNumKernelClasses);
static_assert(std::ranges::is_sorted(kClassCosts, {},
                                     &ClassCost::kernel_class));

const ClassCost& CostOf(KernelClass kernel_class) {
  return kClassCosts[static_cast<std::size_t>(kernel_class)];
}

/// Loads per element of a product of matrices on tensor cores
/// (GemmShape::loads).
double LoadsPerElement(const Kernel& kernel) {
  constexpr std::int64_t kVectorBytes = 16, kPieceBytes = 4;
  const std::int64_t element = kernel.element_bytes_in;
  const std::int64_t bytes = kernel.inner_extent * element;
  if (kernel.groups > 0 || bytes % kVectorBytes == 0) return 0;
  return Real(element) / Real(bytes % kPieceBytes == 0 ? kPieceBytes : element);
}

/// Whether cuBLAS multiplies by Hopper's instructions for four warps at once.
/// Its kernels fetch rows of whole 16 bytes.
bool IsWarpgroupProduct(const Kernel& kernel, const Machine& machine) {
  constexpr std::int64_t kRowElements = 8;
  return machine.device->compute_capability == device::kHopper &&
         kernel.torch >= kWarpgroupTorch && kernel.macs > 0 &&
         kernel.element_bytes_in == kHalfElementBytes && kernel.groups == 0 &&
         kernel.k % kRowElements == 0 && !kernel.repeated &&
         !IsAttention(kernel.kernel_class) && LoadsPerElement(kernel) == 0;
}

/// Elements of a sum.
double SummedElements(const Kernel& kernel, const Machine& machine) {
  constexpr double kStepChannels = 32;
  if (!HasChannelSteps(kernel, machine)) return Real(kernel.k);
  const double summed = SummedChannels(kernel);
  return Real(kernel.k) / summed * PaddedTo(summed, kStepChannels);
}

GemmShape ShapeOf(const Kernel& kernel, const Machine& machine) {
  const double positions = Real(kernel.positions);
  const bool is_weights = kernel.pass == ProductPass::kWeightGradient;
  if (kernel.groups > 0 && !is_weights && IsBatchedProduct(kernel, machine)) {
    return {Real(kernel.m) / positions, positions, Real(kernel.n),
            Real(kernel.k)};
  }
  return {.batch = Real(kernel.batch),
          .m = Real(kernel.m),
          .n = Real(kernel.n),
          .k = SummedElements(kernel, machine),
          .divides = is_weights && machine.HasTf32Units()};
}

/// Whether StridedGradientUs applies. The gradient of a plain convolution was
/// only measured with cuDNN 9.19; with older versions it is a tiled product.
bool TakesStrides(const Kernel& kernel, const Machine& machine) {
  return kernel.groups > 0 && machine.HasTf32Units() &&
         GoesThroughStride(kernel) &&
         (kernel.pass == ProductPass::kForward || HasNewCudnn(kernel, machine));
}

/// Time of the implicit product of a convolution on tensor cores.
double TensorConvolutionUs(const Kernel& kernel, const GemmShape& shape,
                           const Machine& machine) {
  const double direct_us = DirectLoopUs(kernel, machine);
  if (HasPaddedGroups(kernel, machine)) {
    return std::max(PaddedConvolutionUs(kernel, machine), direct_us);
  }
  const double tiled_us =
      TakesStrides(kernel, machine)
          ? StridedGradientUs(kernel, machine)
          : GemmUs(shape, MatrixUnit::kTensorConvolution,
                   PeakFlopsPerUs(kernel, machine), machine) /
                TensorConvolutionShare(kernel, machine);
  const bool is_padded = kernel.groups == 1 && HasNewCudnn(kernel, machine);
  const double padded_us = is_padded ? PaddedConvolutionUs(kernel, machine) : 0;
  return std::max({tiled_us, padded_us, direct_us});
}

/// Time of the product; a kernel whose sizes are unknown runs at the peak.
double ProductUs(const Kernel& kernel, double at_peak_us,
                 const Machine& machine) {
  if (kernel.kernel_class == KernelClass::kDepthwiseConvolution) {
    return CudnnDepthwiseUs(kernel, machine);
  }
  if (IsDepthwise(kernel.kernel_class)) {
    return NativeDepthwiseUs(kernel, machine);
  }
  GemmShape shape = ShapeOf(kernel, machine);
  if (!(shape.Macs() > 0)) return at_peak_us;
  if (const auto us = DirectConvolutionUs(kernel, machine)) return *us;
  if (IsAttention(kernel.kernel_class)) {
    return AttentionUs(kernel, at_peak_us, machine);
  }
  const bool on_lanes = ArithmeticOf(kernel, machine) == Precision::kFp32;
  if (kernel.groups > 0 && (on_lanes || RunsOnLanes(kernel, machine))) {
    return FloatConvolutionUs(kernel, machine);
  }
  if (kernel.groups > 0) return TensorConvolutionUs(kernel, shape, machine);
  if (IsWarpgroupProduct(kernel, machine)) {
    return GemmUs(shape, MatrixUnit::kWarpgroup,
                  PeakFlopsPerUs(kernel, machine), machine);
  }
  if (!on_lanes) shape.loads = LoadsPerElement(kernel);
  return GemmUs(shape, on_lanes ? MatrixUnit::kSimt : MatrixUnit::kTensorCore,
                PeakFlopsPerUs(kernel, machine), machine);
}

double BandwidthShare(const Kernel& kernel, const Machine& machine) {
  if (kernel.loop == ElementLoop::kGenerated) return kGeneratedShare;
  if (kernel.groups > 0 && IsBatchedProduct(kernel, machine)) {
    return kImageProductShare;
  }
  if (IsWarpgroupProduct(kernel, machine)) return kWarpgroupShare;
  const bool is_pool = kernel.kernel_class == KernelClass::kAveragePool;
  if (is_pool && kernel.channels_last) return kChannelsLastPoolShare;
  if (kernel.kernel_class == KernelClass::kBatchNorm && kernel.variant) {
    return kTrainingNormShare;
  }
  const bool is_dense_copy =
      kernel.kernel_class == KernelClass::kCopy && !kernel.mixed_layouts;
  return is_dense_copy ? kDenseCopyShare
                       : CostOf(kernel.kernel_class).bandwidth_share;
}

/// Time in which the kernel's bytes move as those of its class do.
double TrafficUs(const Kernel& kernel, const Machine& machine) {
  const double bytes = Real(kernel.Bytes()) + RereadBytes(kernel, machine) -
                       PassedBytes(kernel, machine);
  return RowStartsUs(kernel, machine) +
         bytes / machine.bytes_per_us /
             (BandwidthShare(kernel, machine) *
              RowAlignmentShare(kernel, machine));
}

/// Uses Winograd's algorithm where it is possible and faster.
void TakeWinograd(const Kernel& kernel, const Machine& machine,
                  KernelTime& time) {
  const std::optional<double> us = WinogradUs(kernel, machine);
  if (!us || *us >= std::max(time.arithmetic_us, time.memory_us)) return;
  time.arithmetic_us = *us;
  time.memory_us = 0;
}

/// Time of a kernel with a product in addition to its launch and its work.
double StartUs(const Kernel& kernel, const Machine& machine,
               const KernelTime& time) {
  if (IsAttention(kernel.kernel_class))
    return AttentionStartUs(kernel, machine);
  if (IsDepthwise(kernel.kernel_class)) return 0;
  const double start_us = kernel.repeated ? kStepProductStartUs
                          : IsWarpgroupProduct(kernel, machine)
                              ? kWarpgroupStartUs
                              : kProductStartUs;
  return std::min(start_us, std::max(time.arithmetic_us, time.memory_us));
}

}  // namespace

double KernelTime::WorkUs() const {
  return conversion_us + std::max(arithmetic_us, memory_us);
}

KernelTime TimeOf(const Kernel& kernel, const Machine& machine) {
  const KernelRoofline roofline = RooflineOf(kernel, machine);
  const double floor_us =
      kernel.repeated ? kStepFloorUs : LaunchUs(*machine.device);
  KernelTime time = {.launch_us = Real(kernel.launches) * floor_us,
                     .traffic_us = roofline.memory_us};
  const double traffic_us = TrafficUs(kernel, machine);
  time.memory_us =
      IsGradientLoop(kernel.loop)
          ? std::max(GradientUs(kernel, machine), roofline.serial_us)
          : std::max({traffic_us, roofline.serial_us,
                      LoopUs(kernel, machine, traffic_us)});
  time.conversion_us = ConversionUs(kernel, machine);
  if (kernel.macs == 0) return time;
  time.at_peak_us =
      roofline.arithmetic_us * (kernel.causal ? kCausalAttentionShare : 1);
  time.arithmetic_us = ProductUs(kernel, time.at_peak_us, machine);
  TakeWinograd(kernel, machine, time);
  time.launch_us += StartUs(kernel, machine, time);
  return time;
}

}  // namespace foretell::cost
