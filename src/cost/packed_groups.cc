#include "src/cost/packed_groups.h"

#include <algorithm>
#include <cmath>

#include "src/cost/direct_convolution.h"
#include "src/cost/padded_convolution.h"
#include "src/cost/roofline.h"
#include "src/cost/strided_gradient.h"
#include "src/cost/tensor_convolution.h"

// cuDNN's kernels for FP32 lanes (sm80_xmma_…_ffma_…_nchw) compute one group at
// a time, and want its images one after the other. Where images are contiguous,
// the channels of a group are apart from those of the next image, so
// genericTranspose_kernel copies them in and the results out; a single image is
// taken as it lies. Which convolutions have other kernels
// (implicit_convolve_sgemm, dgrad_engine), and what copies cost, is fitted to
// an H100's operators (kinds.jsonl.gz, drawn.jsonl.gz).

namespace foretell::cost {
namespace {

/// Of a multiprocessor for each element that is copied in or out: a fiftieth of
/// the bandwidth.
constexpr double kElementCycles = 19;
/// Channels that a product of volumes in TF32 with windows of more than 32
/// elements sums over at most where another kernel computes it.
constexpr double kFewVolumeChannels = 4;

/// Images of a batch. Rows of the product of an input's gradient are places of
/// the input, so these are counted by the bytes that it is given.
double ImagesOf(const Kernel& kernel) {
  const double positions = Real(std::max<std::int64_t>(1, kernel.positions));
  if (kernel.pass == ProductPass::kForward) return Real(kernel.m) / positions;
  return std::round(
      Real(kernel.bytes_in) /
      (positions * Real(kernel.channels_out * kernel.element_bytes_in)));
}

/// Of the gradient of an input: none if the window is a row.
bool HasPackedGradient(const Kernel& kernel, bool on_lanes) {
  const double summed = SummedChannels(kernel);
  if (kernel.taps == kernel.window_width) return false;
  const bool is_depthwise =
      !kernel.volume && kernel.pass == ProductPass::kForward && summed == 1;
  if (is_depthwise) return kernel.n > 1;
  if (HasGroupTiles(kernel)) return true;
  return on_lanes && kernel.stride_elements == 1 &&
         kernel.taps <= kMostMaskedTaps && summed > kFewImageChannels;
}

bool HasPackedKernel(const Kernel& kernel, bool on_lanes) {
  if (PlainPass(kernel) == ProductPass::kInputGradient) {
    return HasPackedGradient(kernel, on_lanes);
  }
  const double summed = SummedChannels(kernel);
  if (!kernel.volume && summed <= kFewImageChannels) return false;
  return on_lanes ||
         (kernel.taps > kMostMaskedTaps && summed > kFewVolumeChannels);
}

}  // namespace

bool PacksGroups(const Kernel& kernel, const Machine& machine) {
  return kernel.groups > 1 && !IsDepthwise(kernel.kernel_class) &&
         kernel.pass != ProductPass::kWeightGradient && !kernel.channels_last &&
         HasNewCudnn(kernel, machine) &&
         kernel.element_bytes_in == kFloatElementBytes &&
         HasPackedKernel(kernel, !UsesTensorCores(kernel, machine)) &&
         ImagesOf(kernel) > 1;
}

double PackedGroupsUs(const Kernel& kernel, const Machine& machine) {
  const double elements =
      Real(kernel.bytes_in + kernel.bytes_out) / kFloatElementBytes;
  return elements * kElementCycles / (machine.CyclesPerUs() * machine.sms);
}

}  // namespace foretell::cost
