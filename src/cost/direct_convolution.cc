#include "src/cost/direct_convolution.h"

#include <algorithm>
#include <cstdint>

#include "src/cost/padded.h"
#include "src/cost/padded_convolution.h"
#include "src/cost/roofline.h"
#include "src/cost/strided_gradient.h"
#include "src/cost/tensor_convolution.h"

// Convolutions for which cuDNN 9.19 falls back to FP32 lanes on an H100. Which
// they are shows in the kernels of its operators (kinds.jsonl.gz,
// drawn.jsonl.gz); cycles of a multiprocessor are fitted to them:
//
//   volumes in groups, windows of more than 32 elements
//       implicit_convolveNd_sgemm, sm80_xmma_fprop …_ffma_…: a product in tiles
//       of 64 channels, six times as slow in 16 bits on channels-last images
//   gradients of inputs in groups, through a stride or such a window
//       16 bits, channels of a group no vectors: dgrad2d_grouped_direct_kernel;
//       so do transposed volumes of up to 4 channels
//       volumes of f32: convolveNd_dgrad_float_engine, which takes as long for
//       each element of the window as for 120 channels of its sum

namespace foretell::cost {
namespace {

constexpr double kMacCycles = 0.0147;
constexpr double kDirectTileChannels = 64;
constexpr double kChannelsLastCost = 6;
constexpr double kDirectMacCycles = 2;
constexpr double kDirectTapCycles = 1.8;
constexpr double kFewChannels = 4;

enum class Fallback : std::uint8_t { kNone, kLanes, kDirect, kByTap };

Fallback InGroups(const Kernel& kernel, bool is_half) {
  const bool is_large = kernel.taps > kMostMaskedTaps;
  if (PlainPass(kernel) == ProductPass::kForward) {
    return IsVolume(kernel) && is_large ? Fallback::kLanes : Fallback::kNone;
  }
  if (!is_large && kernel.stride_elements == 1) return Fallback::kNone;
  if (is_half) {
    return HasVectors(kernel) ? Fallback::kNone : Fallback::kDirect;
  }
  return IsVolume(kernel) ? Fallback::kByTap : Fallback::kNone;
}

Fallback FallbackOf(const Kernel& kernel, const Machine& machine) {
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  if (kernel.groups == 0 || IsDepthwise(kernel.kernel_class) ||
      kernel.pass == ProductPass::kWeightGradient ||
      !HasNewCudnn(kernel, machine) || !UsesTensorCores(kernel, machine)) {
    return Fallback::kNone;
  }
  if (kernel.groups > 1) return InGroups(kernel, is_half);
  const bool is_direct =
      is_half && IsVolume(kernel) && kernel.pass == ProductPass::kForward &&
      GoesThroughStride(kernel) && SummedChannels(kernel) <= kFewChannels;
  return is_direct ? Fallback::kDirect : Fallback::kNone;
}

double CyclesOf(const Kernel& kernel, Fallback fallback) {
  const double macs =
      Real(kernel.batch) * Real(kernel.m) * Real(kernel.n) * Real(kernel.k);
  if (fallback == Fallback::kDirect) return macs * kDirectMacCycles;
  if (fallback == Fallback::kByTap) {
    return macs *
           std::max(kDirectTapCycles / SummedChannels(kernel), kMacCycles);
  }
  const bool is_slow =
      kernel.channels_last && kernel.element_bytes_in == kHalfElementBytes;
  return macs / Real(kernel.n) * PaddedTo(Real(kernel.n), kDirectTileChannels) *
         kMacCycles * (is_slow ? kChannelsLastCost : 1);
}

}  // namespace

bool IsDirectHalf(const Kernel& kernel, const Machine& machine) {
  return kernel.element_bytes_in == kHalfElementBytes &&
         FallbackOf(kernel, machine) != Fallback::kNone;
}

std::optional<double> DirectConvolutionUs(const Kernel& kernel,
                                          const Machine& machine) {
  const Fallback fallback = FallbackOf(kernel, machine);
  if (fallback == Fallback::kNone) return std::nullopt;
  return CyclesOf(kernel, fallback) / (machine.CyclesPerUs() * machine.sms);
}

}  // namespace foretell::cost
