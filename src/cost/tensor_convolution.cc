#include "src/cost/tensor_convolution.h"

#include <algorithm>
#include <cstdint>

#include "src/cost/direct_convolution.h"
#include "src/cost/packed_groups.h"
#include "src/cost/padded.h"
#include "src/cost/padded_convolution.h"
#include "src/cost/roofline.h"
#include "src/cost/strided_gradient.h"
#include "src/device/compute_capability.h"
#include "src/graph/convolution.h"

// Convolutions on tensor cores, as cuDNN computes them: the implicit product in
// the tiles of matrix products (gemm.cc), in 16 bits at 0.80 of that, and
// copies around it. Its kernels want channels innermost. Images that lie
// otherwise are copied on the way in and on the way out:
//
//   TF32      0.7 of the images, seen in published A100 latencies of whole
//             convolutional networks: all on the way in, some on the way out
//   16 bits   0.4 of the images, from labels of 500 networks on two GPUs of
//             Blackwell; published A100 rows of ResNet-50 agree. The chips of
//             capability 8.6 and 8.9 show no copies in such labels, and neither
//             does cuDNN 7 on V100 and T4: the same kernels read both layouts
//
// Images of at most four channels are read as they lie. On Hopper cuDNN 9.19
// (kNewCudnn) copies every image in both directions, and once more where it
// pads channels, or groups of them, to vectors of 16 bytes (kinds.jsonl.gz,
// drawn.jsonl.gz); but windows of one element without a stride are a product
// for each image, where its rows begin at such vectors. cuDNN 9.10 (kCudnn910)
// does so for groups and for images of at most four channels.
//
// In 16 bits, images that lie channels-last cost what a product of matrices
// costs, and twice as much in groups of more than 32 channels, on the one GPU
// of which there are such labels (RTX 3090).
//
// On Hopper and B200 these kernels multiply by Ampere's instruction (mma.sync),
// which reaches 0.63 of the peak that the newer ones have (arXiv:2402.13499),
// up to cuDNN 9.19, whose kernels for TF32 and bf16 have the newer one; fused
// attention (attention_time.cc) loses as much.
//
// Images of at most four channels are padded and gathered from memory, which
// takes as long in 16 bits as in TF32 on an H100; volumes of up to eight are
// slower. 16-bit labels of GeForce cards show none of it.

namespace foretell::cost {
namespace {

constexpr double kTf32Share = 1.0;
constexpr double kHalfShare = 0.80;
constexpr double kChannelsLastShare = 1.0;
constexpr double kWideGroupsShare = 0.5;
constexpr std::int64_t kMostGroupedChannels = 32;
constexpr double kOldInstructionShare = 0.63;

constexpr double kConvertedShare = 0.7;
constexpr double kConvertedHalfShare = 0.4;
constexpr double kConversionBandwidthShare = 0.8;
/// How often cuDNN 9.19 could read and write the images at the bandwidth while
/// it copies them: where channels, of a group, are vectors of 16 bytes, where
/// they are padded to those, and padded on channels-last images, which are not
/// copied else. Fitted to an H100 (kinds.jsonl.gz, drawn.jsonl.gz).
struct CopyTimes {
  double plain;
  double padded;
  double channels_last;
};
constexpr CopyTimes kNewCopies = {1.25, 1.9, 0.5};
constexpr CopyTimes kNewHalfCopies = {1.61, 3.0, 2.7};
constexpr CopyTimes kNewGroupedCopies = {1.25, 3.5, 7};
constexpr CopyTimes kNewHalfGroupedCopies = {1.61, 5.5, 12};

constexpr double kStemShare = 0.77;
constexpr double kLargeStemShare = 0.4;
constexpr double kHopperLargeStemShare = 0.2;
constexpr double kNewGroupedShare = 0.75;  // Of wide groups.
constexpr double kNewHalfGroupedShare = 0.58;
constexpr double kNewWeightGradientShare = 0.42;
constexpr std::int64_t kLargestStemWindow = 7;
constexpr double kVolumeStemShare = 0.5;
constexpr double kHalfStemShare = 0.5;
constexpr std::int64_t kMostVolumeStemChannels = 8;
constexpr double kStemPadding = 4;
/// KernelBench's windows of 35 and 45 elements on an H100, 105 on an A100.
constexpr double kLookedUpShare = 0.65;
/// The first that multiplies images as they lie where the window is of one
/// element (cuDNN 9.1).
constexpr TorchVersion kMultipliesImages = {.major = 2, .minor = 4};

/// 16 bits, or 8 in TensorRT, whose kernels read images as those of 16 do.
bool IsNarrow(const Kernel& kernel) {
  return kernel.element_bytes_in == kHalfElementBytes || kernel.int8;
}

bool IsHalf(const Kernel& kernel, const Machine& machine) {
  return IsNarrow(kernel) && UsesTensorCores(kernel, machine);
}

/// Whether kernels of 16 bits want channels innermost.
bool CopiesHalfImages(const Machine& machine) {
  const int capability = machine.device->compute_capability;
  return capability == device::kAmpereData || capability >= device::kHopper;
}

/// Whether the window is of one element and steps over none.
bool IsProduct(const Kernel& kernel) {
  return kernel.taps == 1 && kernel.stride_elements == 1 &&
         kernel.kernel_class != KernelClass::kTransposedConvolution;
}

/// Kernels with Hopper's instruction have no stride; products of TF32 are
/// CUTLASS's for Ampere.
bool HasNewKernels(const Kernel& kernel, const Machine& machine) {
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  return HasNewCudnn(kernel, machine) && kernel.stride_elements == 1 &&
         (is_half || !IsProduct(kernel));
}

/// Share that convolutions in groups of many channels reach with cuDNN 9.19.
double GroupedShare(const Kernel& kernel, const Machine& machine) {
  if (kernel.groups <= 1 || !HasNewCudnn(kernel, machine)) return 1;
  return kernel.element_bytes_in == kHalfElementBytes ? kNewHalfGroupedShare
                                                      : kNewGroupedShare;
}

/// Whether few channels hold a product back.
bool IsStem(const Kernel& kernel) {
  return kernel.channels_in > 0 &&
         kernel.channels_in <=
             (kernel.volume ? kMostVolumeStemChannels : kMostStemChannels) &&
         kernel.groups == 1 && kernel.pass == ProductPass::kForward &&
         !IsProduct(kernel);
}

/// Share that images of few channels reach of the rate of others.
double StemShare(const Kernel& kernel, const Machine& machine) {
  const bool is_half = IsNarrow(kernel);
  if (!IsStem(kernel) || (is_half && !HasNewCudnn(kernel, machine)) ||
      HasChannelSteps(kernel, machine)) {
    return 1;
  }
  const double padded = PaddedTo(Real(kernel.channels_in), kStemPadding);
  const double share =
      kernel.volume ? kVolumeStemShare
      : kernel.window_width > kLargestStemWindow
          ? (machine.HasNewerTensorCores() ? kHopperLargeStemShare
                                           : kLargeStemShare)
          : kStemShare;
  return Real(kernel.channels_in) / padded * share *
         (is_half ? kHalfStemShare : 1);
}

/// Share of kernels that look each element of the window up, as cuDNN's before
/// 9.10 do where a mask of 32 bits does not hold it.
double WindowShare(const Kernel& kernel, const Machine& machine) {
  const bool is_transposed =
      kernel.kernel_class == KernelClass::kTransposedConvolution;
  const bool is_looked_up =
      kernel.taps > kMostMaskedTaps && kernel.groups == 1 &&
      !(is_transposed && machine.HasNewerTensorCores()) && !IsNarrow(kernel) &&
      !HasCudnn910(kernel, machine) && !IsStem(kernel);
  return is_looked_up ? kLookedUpShare : 1;
}

/// Share that the gradient of a weight reaches of the rate of others: in TF32
/// cuDNN 9.19 has kernels of Ampere's and indexed ones for it.
double WeightGradientShare(const Kernel& kernel, const Machine& machine) {
  const bool is_slow = kernel.pass == ProductPass::kWeightGradient &&
                       kernel.element_bytes_in != kHalfElementBytes &&
                       HasNewCudnn(kernel, machine);
  return is_slow ? kNewWeightGradientShare : 1;
}

/// Whether cuDNN copies no image.
bool ReadsAsTheyLie(const Kernel& kernel, const Machine& machine) {
  return kernel.groups == 0 || !UsesTensorCores(kernel, machine) ||
         RunsOnLanes(kernel, machine) || IsBatchedProduct(kernel, machine) ||
         ReadsImagesDirectly(kernel, machine);
}

/// How often cuDNN 9.19 could read and write all images while it copies them.
double NewCopies(const Kernel& kernel) {
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  const CopyTimes& times =
      kernel.groups > 1 ? (is_half ? kNewHalfGroupedCopies : kNewGroupedCopies)
                        : (is_half ? kNewHalfCopies : kNewCopies);
  const bool is_padded = !HasVectors(kernel);
  if (kernel.channels_last) return is_padded ? times.channels_last : 0;
  return is_padded ? times.padded : times.plain;
}

/// Whether images have few channels, as photographs.
bool IsImage(const Kernel& kernel) {
  return kernel.channels_in <= kMostStemChannels && !kernel.volume &&
         kernel.pass == ProductPass::kForward;
}

/// Share of the images that older versions copy.
double CopiedShare(const Kernel& kernel, const Machine& machine) {
  if (kernel.channels_last) return 0;
  if (GoesThroughStride(kernel)) return 1;
  if (IsImage(kernel)) return 0;
  if (ArithmeticOf(kernel, machine) == Precision::kTf32) return kConvertedShare;
  return CopiesHalfImages(machine) ? kConvertedHalfShare : 0;
}

}  // namespace

bool HasCudnn910(const Kernel& kernel, const Machine& machine) {
  return machine.HasNewerTensorCores() && kernel.torch >= kCudnn910;
}

bool HasNewCudnn(const Kernel& kernel, const Machine& machine) {
  const bool in_groups = kernel.groups > 1 && !IsDepthwise(kernel.kernel_class);
  return machine.HasNewerTensorCores() &&
         kernel.torch >= (in_groups ? kCudnn910 : kNewCudnn);
}

bool IsNarrowVolumeGradient(const Kernel& kernel, const Machine& machine) {
  return HasChannelSteps(kernel, machine) && HasCudnn910(kernel, machine) &&
         kernel.element_bytes_in == kFloatElementBytes &&
         kernel.n < kNarrowVolumeChannels;
}

bool RunsOnLanes(const Kernel& kernel, const Machine& machine) {
  if (IsNarrowVolumeGradient(kernel, machine)) return true;
  return machine.HasNewerTensorCores() && kernel.volume &&
         kernel.kernel_class == KernelClass::kStemConvolution &&
         kernel.pass == ProductPass::kForward && kernel.stride_elements == 1 &&
         kernel.element_bytes_in != kHalfElementBytes;
}

bool HasChannelSteps(const Kernel& kernel, const Machine& machine) {
  return kernel.volume && kernel.groups == 1 && kernel.stride_elements == 1 &&
         PlainPass(kernel) == ProductPass::kInputGradient &&
         machine.HasTf32Units() && !HasNewCudnn(kernel, machine);
}

bool IsBatchedProduct(const Kernel& kernel, const Machine& machine) {
  constexpr std::int64_t kVectorBytes = 16;
  const bool multiplies_images =
      HasNewCudnn(kernel, machine) ||
      (machine.HasNewerTensorCores() && kernel.torch >= kMultipliesImages &&
       kernel.element_bytes_in != kHalfElementBytes);
  return multiplies_images && IsProduct(kernel) && !kernel.channels_last &&
         kernel.groups == 1 && kernel.positions > 0 &&
         kernel.positions * kernel.element_bytes_in % kVectorBytes == 0;
}

double PassedBytes(const Kernel& kernel, const Machine& machine) {
  const bool passes = kernel.channels_last && kernel.taps == 1 &&
                      kernel.groups == 1 && !kernel.volume &&
                      kernel.pass == ProductPass::kForward &&
                      PlainPass(kernel) == ProductPass::kForward &&
                      HasVectors(kernel) && HasNewCudnn(kernel, machine);
  if (!passes) return 0;
  const std::int64_t step = std::max<std::int64_t>(1, kernel.stride_elements);
  return Real(kernel.bytes_in) * (1 - 1 / Real(step));
}

double InstructionShare(const Kernel& kernel, const Machine& machine) {
  const bool is_old = (kernel.groups > 0 && !HasNewKernels(kernel, machine)) ||
                      IsAttention(kernel.kernel_class);
  return is_old && machine.HasNewerTensorCores() ? kOldInstructionShare : 1;
}

double TensorConvolutionShare(const Kernel& kernel, const Machine& machine) {
  if (ArithmeticOf(kernel, machine) == Precision::kTf32) {
    return kTf32Share * StemShare(kernel, machine) *
           WindowShare(kernel, machine) * WeightGradientShare(kernel, machine) *
           GroupedShare(kernel, machine) * InstructionShare(kernel, machine);
  }
  const bool is_direct = kernel.channels_last && IsHalf(kernel, machine);
  const bool has_wide_groups =
      kernel.groups > 1 &&
      kernel.channels_in > kernel.groups * kMostGroupedChannels;
  const double share = !is_direct        ? kHalfShare
                       : has_wide_groups ? kWideGroupsShare
                                         : kChannelsLastShare;
  return share * StemShare(kernel, machine) * WindowShare(kernel, machine) *
         GroupedShare(kernel, machine) * InstructionShare(kernel, machine);
}

double ConversionUs(const Kernel& kernel, const Machine& machine) {
  if (PacksGroups(kernel, machine)) return PackedGroupsUs(kernel, machine);
  if (ReadsAsTheyLie(kernel, machine)) return 0;
  const bool copies_images = HasNewCudnn(kernel, machine) ||
                             (HasCudnn910(kernel, machine) && IsImage(kernel));
  const double copies =
      copies_images ? NewCopies(kernel)
                    : CopiedShare(kernel, machine) / kConversionBandwidthShare;
  const double bytes = 2 * Real(kernel.bytes_in + kernel.bytes_out);
  return copies * bytes / machine.bytes_per_us;
}

}  // namespace foretell::cost
