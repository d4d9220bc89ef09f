#include "src/cost/depthwise.h"

#include <algorithm>
#include <optional>

#include "src/cost/roofline.h"
#include "src/cost/tensor_convolution.h"

// Depthwise convolutions by cuDNN's kernels: a thread loads the elements of a
// window and multiplies them on FP32 lanes, one after the other.
//
//   time = bytes / (0.70 of the bandwidth) + FLOP / (0.20 of the FP32 peak)
//
// Windows larger than 7 x 7 have no kernel of their own: 0.02 of the peak. The
// share of the bandwidth is that of other convolutions; those of the peak are
// fitted to labels of four GPUs in 16 bits (the second to channels-last ones of
// an RTX 3090).
//
// On Hopper squares of up to 7 with a result per channel have such kernels
// (conv2d_c1_k1_nhwc and its like). Others are direct
// (conv2d_grouped_direct_kernel, dgrad2d_c1_k1_nhwc, …): a thread for each
// result, or element of the input, goes over the window. Their cycles of a
// multiprocessor are fitted to an H100's (kinds.jsonl.gz, drawn.jsonl.gz).
// Before cuDNN 9.19 they are known of FP32 alone, by KernelBench.
//
// In FP32 those squares take one tap after another, as cuDNN 9.19 runs them.
// The gradient of an input through a stride goes over all taps. That of a
// weight has no kernel of its own for windows of 7 x 7: it is direct or, copied
// twice, one implicit product of all groups, which takes as long. Fitted to an
// H200's (kernels.jsonl.gz).

namespace foretell::cost {
namespace {

constexpr double kBandwidthShare = 0.70;
constexpr double kPeakShare = 0.20;
constexpr double kLargeWindowPeakShare = 0.02;
constexpr std::int64_t kLargestWindow = 7;

constexpr double kThreadCycles = 5, kTapCycles = 0.7, kVolumeTapCycles = 0.4;
constexpr double kGradientCycles = 1, kGradientTapCycles = 0.32;
/// For a multiply-accumulate of a weight's gradient, and of the gradient of a
/// volume of 16 bits through a stride.
constexpr double kWeightMacCycles = 3, kHalfVolumeMacCycles = 20;

/// For a multiply-accumulate of a square in FP32.
constexpr double kSquareTapCycles = 0.08, kLargeSquareTapCycles = 0.105;
constexpr double kStridedSquareTapCycles = 0.138;
constexpr double kSquareWeightCycles = 0.1, kLargeSquareWeightCycles = 1.4;
constexpr double kStridedSquareWeightCycles = 0.3;
constexpr std::int64_t kLargestSmallSquare = 5;

bool IsCompiled(const Kernel& kernel) {
  return kernel.taps == kernel.window_width * kernel.window_width &&
         kernel.window_height == kernel.window_width &&
         kernel.window_width <= kLargestWindow &&
         kernel.channels_out == kernel.channels_in && !kernel.dilated;
}

/// Cycles of all multiprocessors together.
double DirectCycles(const Kernel& kernel) {
  const double results =
      Real(kernel.bytes_out) /
      Real(std::max<std::int64_t>(1, kernel.element_bytes_out));
  const double taps = Real(kernel.taps);
  if (kernel.pass == ProductPass::kWeightGradient) {
    return Real(kernel.macs) * kWeightMacCycles;
  }
  if (kernel.pass == ProductPass::kForward) {
    return results * (kThreadCycles +
                      taps * (kernel.volume ? kVolumeTapCycles : kTapCycles));
  }
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  if (is_half && kernel.volume && kernel.stride_elements > 1) {
    return Real(kernel.macs) * kHalfVolumeMacCycles;
  }
  const double windows = Real(kernel.channels_out) / Real(kernel.channels_in);
  return results * (kGradientCycles + windows * taps * kGradientTapCycles);
}

/// The same of a square in FP32.
double SquareCycles(const Kernel& kernel) {
  const bool is_large = kernel.window_width > kLargestSmallSquare;
  const bool has_stride = kernel.stride_elements > 1;
  if (kernel.pass == ProductPass::kWeightGradient) {
    return Real(kernel.macs) * (is_large     ? kLargeSquareWeightCycles
                                : has_stride ? kStridedSquareWeightCycles
                                             : kSquareWeightCycles);
  }
  const double tap_cycles =
      has_stride && kernel.pass == ProductPass::kInputGradient
          ? kStridedSquareTapCycles
      : is_large ? kLargeSquareTapCycles
                 : kSquareTapCycles;
  return Real(kernel.bytes_out /
              std::max<std::int64_t>(1, kernel.element_bytes_out)) *
         Real(kernel.taps) * tap_cycles;
}

/// Cycles of all multiprocessors together; empty where they were not measured.
std::optional<double> KnownCycles(const Kernel& kernel,
                                  const Machine& machine) {
  const bool is_new = HasNewCudnn(kernel, machine);
  const bool is_float = kernel.element_bytes_in == kFloatElementBytes;
  if (!IsCompiled(kernel)) {
    const bool is_known = is_new || (is_float && machine.HasNewerTensorCores());
    return is_known ? std::optional(DirectCycles(kernel)) : std::nullopt;
  }
  return is_new && is_float ? std::optional(SquareCycles(kernel))
                            : std::nullopt;
}

}  // namespace

double CudnnDepthwiseUs(const Kernel& kernel, const Machine& machine) {
  if (const std::optional<double> cycles = KnownCycles(kernel, machine)) {
    return *cycles / (machine.CyclesPerUs() * machine.sms);
  }
  const KernelRoofline roofline = RooflineOf(kernel, machine);
  const bool is_large =
      std::min(kernel.window_height, kernel.window_width) > kLargestWindow;
  return roofline.memory_us / kBandwidthShare +
         roofline.arithmetic_us /
             (is_large ? kLargeWindowPeakShare : kPeakShare);
}

}  // namespace foretell::cost
