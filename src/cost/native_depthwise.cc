#include "src/cost/native_depthwise.h"

#include <algorithm>
#include <cmath>

#include "src/cost/tensor_convolution.h"
#include "src/cost/thread_loops.h"

// PyTorch's own depthwise convolutions (DepthwiseConv2d.cu, DepthwiseConv3d.cu
// in aten/src/ATen/native/cuda), whose threads and blocks are the source's:
//
//   result    a thread for each goes over the window
//   input's   a thread for each element goes over the windows of all results
//             of its channel, whether a stride passes it or not
//   weight's  a block for each element; images: a warp of 32 results for each
//             of up to 8 images at a time; volumes: 256 results at a time
//
// Windows of 3 x 3 (images: 1 and 5, too) and strides of 1 and 2, of volumes
// also dilations of 1, are compiled in. Cycles of a multiprocessor are fitted
// to an H100's operators (kinds.jsonl.gz, drawn.jsonl.gz).

namespace foretell::cost {
namespace {

constexpr ThreadCycles kImage = {2.4, 0.115};
constexpr ThreadCycles kSquare = {1.6, 0.105};
constexpr ThreadCycles kVolume = {2.5, 0.2};
constexpr ThreadCycles kDilatedVolume = {4.5, 0.2};
constexpr ThreadCycles kCube = {0, 0.2};

constexpr ThreadCycles kImageGradient = {2.3, 0.137};
constexpr ThreadCycles kSquareGradient = {3.5, 0.125};
constexpr ThreadCycles kStridedGradient = {2.1, 0.6};
constexpr ThreadCycles kVolumeGradient = {2, 0.57};
constexpr ThreadCycles kStridedCubeGradient = {0, 0.3};

/// A step of a block of a weight's gradient, and for each warp that shares its
/// multiprocessor.
struct StepCycles {
  double alone;
  double warp;
};
constexpr StepCycles kImageStep = {220, 7.8};
constexpr StepCycles kVolumeStep = {400, 11};

constexpr double kWarpThreads = 32;
constexpr double kMostWarps = 8;
constexpr std::int64_t kCubeWidth = 3;
constexpr std::int64_t kLargestSquare = 5;

bool IsSquare(const Kernel& kernel) {
  return kernel.taps == kernel.window_width * kernel.window_width &&
         kernel.window_height == kernel.window_width &&
         kernel.window_width % 2 == 1 && kernel.window_width <= kLargestSquare;
}

bool IsCube(const Kernel& kernel) {
  return kernel.window_height == kCubeWidth &&
         kernel.window_width == kCubeWidth &&
         kernel.taps == kCubeWidth * kCubeWidth * kCubeWidth;
}

ThreadCycles ForwardCycles(const Kernel& kernel) {
  if (!kernel.volume) return IsSquare(kernel) ? kSquare : kImage;
  if (kernel.dilated) return kDilatedVolume;
  return IsCube(kernel) ? kCube : kVolume;
}

ThreadCycles GradientCycles(const Kernel& kernel) {
  const bool has_stride = kernel.stride_elements > 1;
  if (kernel.volume) {
    if (!IsCube(kernel)) return kVolumeGradient;
    return has_stride ? kStridedCubeGradient : kCube;
  }
  const bool is_compiled =
      kernel.stride_elements == kernel.stride * kernel.stride &&
      kernel.stride <= 2;
  if (!is_compiled) return kStridedGradient;
  return IsSquare(kernel) ? kSquareGradient : kImageGradient;
}

double WindowsUs(const Kernel& kernel, const ThreadCycles& cycles,
                 double elements, const Machine& machine) {
  const double threads = Real(
      kernel.bytes_out / std::max<std::int64_t>(1, kernel.element_bytes_out));
  return ThreadsUs(threads, elements, cycles, machine);
}

double WeightGradientUs(const Kernel& kernel, const Machine& machine) {
  const bool is_volume = kernel.volume;
  const double results = Real(kernel.k);
  const double positions = Real(std::max<std::int64_t>(1, kernel.positions));
  const double warps =
      is_volume ? kMostWarps
                : std::clamp(std::round(results / positions), 1.0, kMostWarps);
  const double steps = is_volume
                           ? std::ceil(results / (kMostWarps * kWarpThreads))
                           : std::ceil(results / positions / warps) *
                                 std::ceil(positions / kWarpThreads);
  const double blocks = Real(kernel.batch) * Real(kernel.m) * Real(kernel.n);
  const double most =
      std::floor(machine.device->ThreadsPerSm() / (warps * kWarpThreads));
  const double per_sm = blocks / machine.sms;
  const double resident = std::min(per_sm, most) * warps;
  const StepCycles& cycles = is_volume ? kVolumeStep : kImageStep;
  return std::max(1.0, per_sm / most) * steps *
         (cycles.alone + cycles.warp * resident) / machine.CyclesPerUs();
}

}  // namespace

double NativeDepthwiseUs(const Kernel& kernel, const Machine& machine) {
  if (kernel.pass == ProductPass::kWeightGradient) {
    return WeightGradientUs(kernel, machine);
  }
  if (kernel.pass == ProductPass::kForward) {
    return WindowsUs(kernel, ForwardCycles(kernel), Real(kernel.taps), machine);
  }
  const double windows = Real(kernel.channels_out) / Real(kernel.channels_in);
  return WindowsUs(kernel, GradientCycles(kernel), windows * Real(kernel.taps),
                   machine);
}

}  // namespace foretell::cost
