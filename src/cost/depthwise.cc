#include "src/cost/depthwise.h"

#include <algorithm>

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
// cuDNN 9.19 has such kernels for squares of up to 7 with a result per channel
// (conv2d_c1_k1_nhwc and its like). Others are direct
// (conv2d_grouped_direct_kernel, dgrad2d_c1_k1_nhwc, …): a thread for each
// result, or element of the input, goes over the window. Their cycles of a
// multiprocessor are fitted to an H100's (kinds.jsonl.gz, drawn.jsonl.gz).

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

}  // namespace

double CudnnDepthwiseUs(const Kernel& kernel, const Machine& machine) {
  if (HasNewCudnn(kernel, machine) && !IsCompiled(kernel)) {
    return DirectCycles(kernel) / (machine.CyclesPerUs() * machine.sms);
  }
  const KernelRoofline roofline = RooflineOf(kernel, machine);
  const bool is_large =
      std::min(kernel.window_height, kernel.window_width) > kLargestWindow;
  return roofline.memory_us / kBandwidthShare +
         roofline.arithmetic_us /
             (is_large ? kLargeWindowPeakShare : kPeakShare);
}

}  // namespace foretell::cost
