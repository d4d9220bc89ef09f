#include "src/cost/direct_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "src/cost/float_convolution.h"
#include "src/cost/padded.h"
#include "src/cost/padded_convolution.h"
#include "src/cost/roofline.h"
#include "src/cost/strided_gradient.h"
#include "src/cost/tensor_convolution.h"

// Convolutions that cuDNN 9.19 computes on the FP32 lanes of an H100 by kernels
// made for older GPUs, also where tensor cores are allowed. Which they are
// shows in the kernels of its operators (kinds.jsonl.gz, drawn.jsonl.gz);
// cycles of a multiprocessor are fitted to them:
//
//   volumes and images of f32 in groups, windows of more than 32 elements
//       implicit_convolveNd_sgemm, sm80_xmma_fprop_implicit_gemm_indexed: group
//       after group, each a product in tiles, whose blocks wait for memory if
//       few share a multiprocessor
//       volumes of 16 bits that lie channels-last take all groups at once, in
//       tiles of 64 channels
//   gradients of inputs in 16 bits, in groups, through a stride or such a
//   window, channels of a group no vectors; volumes through a stride with few
//   products for each result
//       dgrad2d_grouped_direct_kernel: a thread for each result goes over the
//       window and the channels, whether a stride passes them or not; of
//       volumes with few and odd channels, or through no stride,
//       convolveNd_dgrad_float_engine
//   channels-last images of f32 in groups, on FP32 lanes
//       conv2d_grouped_direct_kernel, which is as fast; so is that of their
//       gradients through a stride if a group has up to 2 channels
//   gradients of inputs in f32, through a stride
//       in groups, of volumes on FP32 lanes, and of others whose strides divide
//       the results into more than 8 classes:
//       convolveNd_dgrad_float_engine (of images dgrad_engine) fills the
//       result, then takes as long for each element of the window as for 140
//       channels of its sum, of images 220
//       images without groups on FP32 lanes have it, too (dgrad_engine), if it
//       is faster than tiles
//   gradients of inputs of contiguous images of f32 in up to four groups
//       sm80_xmma_dgrad …_ffma_…_tilesize32x32x8, on copies of the groups
//       (packed_groups.cc); more groups have kernels on tensor cores, as do
//       windows of more than 9 elements over vectors of channels
//
// A transposed convolution is the gradient of an input.

namespace foretell::cost {
namespace {

/// Of a multiply-accumulate where channels are many.
constexpr double kMacCycles = 0.0147;
/// The same of channels-last volumes of 16 bits, in tiles of 64 channels.
constexpr double kHalfChannelsLastCycles = 0.088;
constexpr double kDirectTileChannels = 64;

/// A block's part of the product of a group.
struct GroupTile {
  double rows;
  double channels;
  double cycles;  ///< Of a multiprocessor, for each element of the sum.
  /// Blocks that a multiprocessor could take while it waits for its first ones.
  double waiting_blocks;
};
constexpr GroupTile kImplicitTile = {32, 32, 46, 4};
constexpr GroupTile kLargeImplicitTile = {64, 128, 146, 4};
constexpr GroupTile kIndexedTile = {32, 32, 41, 1};
constexpr GroupTile kGradientTile = {32, 32, 27, 1};
/// Channels that an implicit product of f32 sums over at most, and elements of
/// a sum of 16 bits from which tiles are large.
constexpr double kFewImplicitChannels = 4;
constexpr double kLongSum = 512;
/// Groups of images of f32 whose gradient has no kernel on tensor cores.
constexpr std::int64_t kFewGroups = 4;

/// Of a result of the direct kernel, and for each channel and element of the
/// window that it goes over.
constexpr double kDirectResultCycles = 1;
constexpr double kDirectTapCycles = 0.31;

/// Of engines, for each result and element of its window; and for filling a
/// result.
constexpr double kHalfEngineCycles = 30;
constexpr double kEngineTapCycles = 2.1;
constexpr double kImageEngineTapCycles = 3.3;
constexpr double kFillCycles = 1.5;

/// Products of a result, and channels of results, that a volume of 16 bits
/// without groups is computed directly with at most.
constexpr double kMostDirectProducts = 100;
constexpr std::int64_t kMostDirectChannels = 64;
constexpr std::int64_t kFewOddChannels = 8;
/// Channels of a group that a direct kernel for images of f32 sums over at
/// most, and the most that the smaller one of its input and its result has.
constexpr double kMostSummedChannels = 16;
constexpr double kFewFloatChannels = 2;
constexpr std::int64_t kMostClasses = 8;

enum class Fallback : std::uint8_t {
  kNone,
  kLanes,
  kGroupTiles,  ///< Of a gradient.
  kDirect,
  kHalfEngine,
  kEngine,
  kEngineOrTiles,  ///< The faster one.
};

bool IsLarge(const Kernel& kernel) { return kernel.taps > kMostMaskedTaps; }

Fallback HalfGradient(const Kernel& kernel) {
  const bool through_stride = kernel.stride_elements > 1;
  if (kernel.groups == 1) {
    const double products = SummedChannels(kernel) * Real(kernel.taps);
    const bool is_direct = kernel.volume && through_stride &&
                           kernel.n <= kMostDirectChannels &&
                           products <= kMostDirectProducts;
    return is_direct ? Fallback::kDirect : Fallback::kNone;
  }
  if ((!IsLarge(kernel) && !through_stride) || HasVectors(kernel)) {
    return Fallback::kNone;
  }
  const bool is_odd = kernel.n % 2 == 1 && kernel.n < kFewOddChannels;
  return kernel.volume && (is_odd || !through_stride) ? Fallback::kHalfEngine
                                                      : Fallback::kDirect;
}

Fallback FloatImageGradient(const Kernel& kernel, bool on_lanes) {
  if (HasGroupTiles(kernel)) return Fallback::kGroupTiles;
  if (kernel.groups == 1) {
    return on_lanes && kernel.taps > 1 ? Fallback::kEngineOrTiles
                                       : Fallback::kNone;
  }
  if (kernel.stride_elements == 1) return Fallback::kNone;
  const double summed = SummedChannels(kernel);
  const bool has_few = summed <= kMostSummedChannels &&
                       std::min(summed, Real(kernel.n)) <= kFewFloatChannels;
  return on_lanes && has_few ? Fallback::kDirect : Fallback::kEngine;
}

Fallback FloatGradient(const Kernel& kernel, bool on_lanes) {
  if (!kernel.volume) return FloatImageGradient(kernel, on_lanes);
  const bool through_stride = kernel.stride_elements > 1;
  if (on_lanes && !through_stride && !IsLarge(kernel)) {
    const bool has_tiles = kernel.groups == 1 || HasVectors(kernel);
    return has_tiles ? Fallback::kEngineOrTiles : Fallback::kEngine;
  }
  if (on_lanes || kernel.groups > 1) {
    return through_stride || IsLarge(kernel) ? Fallback::kEngine
                                             : Fallback::kNone;
  }
  const bool has_classes =
      kernel.stride_elements > kMostClasses ||
      (kernel.stride_elements == kMostClasses && kernel.dilated);
  return has_classes && kernel.taps > 1 ? Fallback::kEngine : Fallback::kNone;
}

Fallback GroupedResult(const Kernel& kernel, bool on_lanes) {
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  if (on_lanes) {
    return kernel.channels_last && !kernel.volume ? Fallback::kDirect
                                                  : Fallback::kNone;
  }
  const bool is_contiguous_f32 =
      !is_half && !kernel.channels_last && kernel.pass == ProductPass::kForward;
  return IsLarge(kernel) && (kernel.volume || is_contiguous_f32)
             ? Fallback::kLanes
             : Fallback::kNone;
}

Fallback FallbackOf(const Kernel& kernel, const Machine& machine) {
  const std::int64_t element = kernel.element_bytes_in;
  const bool is_half = element == kHalfElementBytes;
  const bool on_lanes = !UsesTensorCores(kernel, machine);
  if (kernel.groups == 0 || IsDepthwise(kernel.kernel_class) ||
      kernel.pass == ProductPass::kWeightGradient ||
      !HasNewCudnn(kernel, machine) ||
      (element != kFloatElementBytes && !is_half)) {
    return Fallback::kNone;
  }
  if (PlainPass(kernel) == ProductPass::kInputGradient) {
    return is_half ? HalfGradient(kernel) : FloatGradient(kernel, on_lanes);
  }
  return kernel.groups > 1 ? GroupedResult(kernel, on_lanes) : Fallback::kNone;
}

const GroupTile& GroupTileOf(const Kernel& kernel) {
  if (kernel.element_bytes_in == kHalfElementBytes) {
    return Real(kernel.k) < kLongSum ? kImplicitTile : kLargeImplicitTile;
  }
  return SummedChannels(kernel) > kFewImplicitChannels ? kIndexedTile
                                                       : kImplicitTile;
}

/// Groups one after the other, each in blocks of `tile`.
double GroupCycles(const Kernel& kernel, const GroupTile& tile, double sms) {
  const double blocks = std::ceil(Real(kernel.m) / tile.rows) *
                        std::ceil(Real(kernel.n) / tile.channels);
  return Real(kernel.batch) * Real(kernel.k) * tile.cycles *
         (blocks + tile.waiting_blocks * sms);
}

double LaneCycles(const Kernel& kernel, double macs, double sms) {
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  if (!is_half || !kernel.channels_last) {
    return GroupCycles(kernel, GroupTileOf(kernel), sms);
  }
  return macs / Real(kernel.n) * PaddedTo(Real(kernel.n), kDirectTileChannels) *
         kHalfChannelsLastCycles;
}

/// Of all multiprocessors together.
double CyclesOf(const Kernel& kernel, Fallback fallback, double sms) {
  const double results = Real(kernel.batch) * Real(kernel.m) * Real(kernel.n);
  const double macs = results * Real(kernel.k);
  const double summed = SummedChannels(kernel);
  switch (fallback) {
    case Fallback::kGroupTiles:
      return GroupCycles(kernel, kGradientTile, sms);
    case Fallback::kDirect:
      return results * (kDirectResultCycles +
                        Real(kernel.taps) * summed * kDirectTapCycles);
    case Fallback::kHalfEngine:
      return macs * kHalfEngineCycles / summed;
    case Fallback::kEngine:
    case Fallback::kEngineOrTiles: {
      const double tap =
          kernel.volume ? kEngineTapCycles : kImageEngineTapCycles;
      return results * kFillCycles + macs * std::max(tap / summed, kMacCycles);
    }
    default:
      return LaneCycles(kernel, macs, sms);
  }
}

}  // namespace

bool HasGroupTiles(const Kernel& kernel) {
  constexpr std::int64_t kSmallWindow = 9;
  if (kernel.taps > kSmallWindow && !kernel.dilated && HasVectors(kernel)) {
    return false;
  }
  return !kernel.volume && kernel.groups > 1 && kernel.groups <= kFewGroups &&
         !kernel.channels_last && kernel.stride_elements == 1 &&
         kernel.taps > kernel.window_width && !IsLarge(kernel) &&
         SummedChannels(kernel) > kFewImageChannels;
}

bool ReadsImagesDirectly(const Kernel& kernel, const Machine& machine) {
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  return FallbackOf(kernel, machine) != Fallback::kNone &&
         (is_half || !kernel.channels_last);
}

std::optional<double> DirectConvolutionUs(const Kernel& kernel,
                                          const Machine& machine) {
  const Fallback fallback = FallbackOf(kernel, machine);
  if (fallback == Fallback::kNone) return std::nullopt;
  const double us = CyclesOf(kernel, fallback, machine.sms) /
                    (machine.CyclesPerUs() * machine.sms);
  if (fallback != Fallback::kEngineOrTiles) return us;
  return std::min(us, FloatConvolutionUs(kernel, machine));
}

}  // namespace foretell::cost
