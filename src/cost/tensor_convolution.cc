#include "src/cost/tensor_convolution.h"

#include "src/cost/compute_capability.h"
#include "src/cost/roofline.h"

// Convolutions on tensor cores, as cuDNN computes them: the implicit product in
// the tiles of matrix products (gemm.cc), in 16 bits at 0.80 of that, and
// copies around it. Its kernels want channels innermost. Images that lie
// otherwise are copied on the way in and on the way out:
//
//   TF32      0.7 of all images, seen in published A100 latencies of whole
//             convolutional networks
//   16 bits   0.4 of all images, from labels of 500 networks on two GPUs of
//             Blackwell; published A100 rows of ResNet-50 agree. The chips of
//             capability 8.6 and 8.9 show no copies in such labels, and neither
//             does cuDNN 7 on V100 and T4: the same kernels read both layouts
//
// In 16 bits, images that lie channels-last cost what a product of matrices
// costs, and twice as much in groups of more than 32 channels, on the one GPU
// of which there are such labels (RTX 3090).
//
// On Hopper and B200 these kernels multiply by Ampere's instruction (mma.sync),
// which reaches 0.63 of the peak that the newer ones have (arXiv:2402.13499);
// fused attention (attention_time.cc) loses as much.

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

bool IsHalf(const Kernel& kernel, const Machine& machine) {
  return kernel.element_bytes_in == kHalfElementBytes &&
         UsesTensorCores(kernel, machine);
}

/// Whether kernels of 16 bits want channels innermost.
bool CopiesHalfImages(const Machine& machine) {
  const int capability = machine.device->compute_capability;
  return capability == kAmpereData || capability >= kHopper;
}

/// Share of the images that are copied.
double CopiedShare(const Kernel& kernel, const Machine& machine) {
  if (kernel.groups == 0 || kernel.channels_last) return 0;
  if (ArithmeticOf(kernel, machine) == Precision::kTf32) return kConvertedShare;
  const bool copies = IsHalf(kernel, machine) && CopiesHalfImages(machine);
  return copies ? kConvertedHalfShare : 0;
}

}  // namespace

double InstructionShare(const Kernel& kernel, const Machine& machine) {
  const bool is_old = kernel.groups > 0 || IsAttention(kernel.kernel_class);
  return is_old && machine.HasNewerTensorCores() ? kOldInstructionShare : 1;
}

double TensorConvolutionShare(const Kernel& kernel, const Machine& machine) {
  if (ArithmeticOf(kernel, machine) == Precision::kTf32) {
    return kTf32Share * InstructionShare(kernel, machine);
  }
  const bool is_direct = kernel.channels_last && IsHalf(kernel, machine);
  const bool has_wide_groups =
      kernel.groups > 1 &&
      kernel.channels_in > kernel.groups * kMostGroupedChannels;
  const double share = !is_direct        ? kHalfShare
                       : has_wide_groups ? kWideGroupsShare
                                         : kChannelsLastShare;
  return share * InstructionShare(kernel, machine);
}

double ConversionUs(const Kernel& kernel, const Machine& machine) {
  const double bytes = 2 * Real(kernel.bytes_in + kernel.bytes_out);
  return CopiedShare(kernel, machine) * bytes / machine.bytes_per_us /
         kConversionBandwidthShare;
}

}  // namespace foretell::cost
