#include "src/cost/depthwise.h"

#include <algorithm>

#include "src/cost/roofline.h"

// Depthwise convolutions by cuDNN's kernels: a thread loads the elements of a
// window and multiplies them on FP32 lanes, one after the other.
//
//   time = bytes / (0.70 of the bandwidth) + FLOP / (0.20 of the FP32 peak)
//
// Windows larger than 7 x 7 have no kernel of their own: 0.02 of the peak. The
// share of the bandwidth is that of other convolutions; those of the peak are
// fitted to labels of four GPUs in 16 bits (the second to channels-last ones of
// an RTX 3090).

namespace foretell::cost {
namespace {

constexpr double kBandwidthShare = 0.70;
constexpr double kPeakShare = 0.20;
constexpr double kLargeWindowPeakShare = 0.02;
constexpr std::int64_t kLargestWindow = 7;

}  // namespace

double CudnnDepthwiseUs(const Kernel& kernel, const Machine& machine) {
  const KernelRoofline roofline = RooflineOf(kernel, machine);
  const bool is_large =
      std::min(kernel.window_height, kernel.window_width) > kLargestWindow;
  return roofline.memory_us / kBandwidthShare +
         roofline.arithmetic_us /
             (is_large ? kLargeWindowPeakShare : kPeakShare);
}

}  // namespace foretell::cost
