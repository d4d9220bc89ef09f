#include "src/cost/strided_gradient.h"

#include <algorithm>
#include <cmath>

#include "src/cost/padded.h"
#include "src/cost/padded_convolution.h"
#include "src/cost/roofline.h"
#include "src/cost/tensor_convolution.h"

// The gradient of an input through a stride: each result sums over the elements
// of the window that the stride leaves it. cuDNN's kernels on tensor cores
// (dgrad_implicit_gemm_indexed) take the results class by class, in tiles of 64
// channels and sums of 32; groups that fit a tile share it:
//
//   time = 2 * m * n padded to 64 * (k padded to 32 per element + start)
//          / (share * peak)
//
// Start and shares are fitted to an H100's (kinds.jsonl.gz); KernelBench's
// transposed volumes on A100 and H100 with cuDNN 9.1 agree. Where the window
// has gaps, Hopper's take all of its elements for every result; so do Ampere's
// for volumes of few channels, in tiles of 32.

namespace foretell::cost {
namespace {

constexpr double kTileChannels = 64;
constexpr double kStepChannels = 32;
constexpr double kStartDepth = 132;
constexpr double kStridedShare = 0.415;
constexpr double kStridedHalfShare = 0.45;

bool TakesAllTaps(const Kernel& kernel, double channels,
                  const Machine& machine) {
  if (machine.HasNewerTensorCores()) return kernel.dilated;
  return kernel.volume && channels < kStepChannels;
}

}  // namespace

double SummedChannels(const Kernel& kernel) {
  const bool is_backward = kernel.pass == ProductPass::kInputGradient;
  return Real(is_backward ? kernel.channels_out : kernel.channels_in) /
         Real(kernel.groups);
}

bool GoesThroughStride(const Kernel& kernel) {
  return kernel.stride_elements > 1 &&
         PlainPass(kernel) == ProductPass::kInputGradient;
}

double StridedGradientUs(const Kernel& kernel, const Machine& machine) {
  const double summed = SummedChannels(kernel);
  const double shared = std::clamp(std::floor(kTileChannels / Real(kernel.n)),
                                   1.0, Real(kernel.groups));
  const double channels = shared * Real(kernel.n);
  const bool takes_all = TakesAllTaps(kernel, channels, machine);
  const double taps = takes_all ? Real(kernel.taps) : Real(kernel.k) / summed;
  const double tile =
      takes_all && channels < kStepChannels ? kStepChannels : kTileChannels;
  const double depth =
      taps * PaddedTo(shared * summed, kStepChannels) + kStartDepth;
  const double flops = 2 * Real(kernel.groups) / shared * Real(kernel.m) *
                       PaddedTo(channels, tile) * depth;
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  return flops / PeakFlopsPerUs(kernel, machine) /
         (is_half ? kStridedHalfShare : kStridedShare);
}

}  // namespace foretell::cost
