#include "src/cost/float_convolution.h"

#include <cmath>

#include "src/cost/float_weight_gradient.h"
#include "src/cost/gemm.h"
#include "src/cost/padded_convolution.h"
#include "src/cost/roofline.h"
#include "src/cost/tensor_convolution.h"

// Convolutions on FP32 lanes, which f32 uses on GPUs before Ampere, as cuDNN's
// kernels compute them: the implicit product in tiles of their own (gemm.cc),
// at a share that the pass decides. Gathering the gradient of the results for
// that of the input costs, more so when a stride leaves holes in it; the
// gradient of the weight adds what its blocks have summed up.
//
// Fitted to half of DeepBench's convolutions of three passes on V100, P100 and
// T4 and of the kernels of a training step of ResNet-50 that Orion traced on a
// V100; channels that do not come in fours are NeuSight's. What remains is
// printed by scripts/published/score_operators.py.

namespace foretell::cost {
namespace {

constexpr double kInputGradientShare = 0.85;
constexpr double kStridedInputGradientShare = 0.55;
constexpr double kWeightGradientShare = 0.75;
/// A vector of f32.
constexpr std::int64_t kAlignedChannels = 4;
constexpr double kOddChannelShare = 0.65;

double PassShare(const Kernel& kernel) {
  if (kernel.pass == ProductPass::kWeightGradient) return kWeightGradientShare;
  if (PlainPass(kernel) == ProductPass::kForward) return 1;
  return kernel.stride > 1 ? kStridedInputGradientShare : kInputGradientShare;
}

/// Volumes of few channels on Hopper (RunsOnLanes), in tiles of 32 channels of
/// the result; a single tile reaches less (KernelBench).
double HopperStemUs(const Kernel& kernel, double flops_per_us) {
  constexpr double kTile = 32, kStartDepth = 20, kShare = 0.44,
                   kNarrowShare = 0.38;
  const double tiles = std::ceil(Real(kernel.n) / kTile);
  const double flops =
      2 * Real(kernel.m) * tiles * kTile * (Real(kernel.k) + kStartDepth);
  return flops / (flops_per_us * (tiles > 1 ? kShare : kNarrowShare));
}

/// Gradients of cuDNN 9.10 (IsNarrowVolumeGradient), in whole tiles of
/// channels.
double NarrowVolumeUs(const Kernel& kernel, double flops_per_us) {
  constexpr double kShare = 0.62;
  return 2 * Real(kernel.m) * Real(kNarrowVolumeChannels) * Real(kernel.k) /
         (flops_per_us * kShare);
}

}  // namespace

double ChannelShare(const Kernel& kernel) {
  const bool is_image = kernel.channels_in <= kAlignedChannels;
  const bool is_aligned =
      (is_image || kernel.channels_in % kAlignedChannels == 0) &&
      kernel.channels_out % kAlignedChannels == 0;
  return is_aligned ? 1 : kOddChannelShare;
}

double FloatConvolutionUs(const Kernel& kernel, const Machine& machine) {
  const GemmShape shape = {Real(kernel.batch), Real(kernel.m), Real(kernel.n),
                           Real(kernel.k)};
  if (IsNarrowVolumeGradient(kernel, machine)) {
    return NarrowVolumeUs(kernel, machine.FlopsPerUs(Precision::kFp32));
  }
  if (RunsOnLanes(kernel, machine)) {
    return HopperStemUs(kernel, machine.FlopsPerUs(Precision::kFp32));
  }
  if (HasFloatWeightKernels(kernel, machine)) {
    return FloatWeightGradientUs(kernel, machine);
  }
  return GemmUs(shape, MatrixUnit::kSimtConvolution,
                PeakFlopsPerUs(kernel, machine), machine) /
         (PassShare(kernel) * ChannelShare(kernel));
}

}  // namespace foretell::cost
