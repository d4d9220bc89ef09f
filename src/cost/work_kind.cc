#include "src/cost/work_kind.h"

#include <array>
#include <cstdint>

#include "src/cost/padded_convolution.h"

// Kinds of operators whose predicted times err alike. Products and kernels that
// move data are priced from sources that are public; which kernel cuDNN takes
// for a convolution is not, and for groups, volumes and transpositions it has
// many; plain ones are what its kernels were made for. For volumes and
// transpositions in groups it may have a single one that takes many times as
// long.

namespace foretell {
namespace cost {
namespace {

bool IsPlain(const Kernel& kernel) {
  constexpr std::int64_t kMostTaps = 9;
  const bool skips = kernel.taps == 1 && kernel.stride_elements > 1;
  return kernel.groups == 1 && kernel.taps <= kMostTaps && !skips &&
         HasVectors(kernel);
}

WorkKind KindOfConvolution(const Kernel& kernel) {
  const bool is_transposed =
      kernel.kernel_class == KernelClass::kTransposedConvolution;
  const bool in_groups = kernel.groups > 1 &&
                         kernel.groups < kernel.channels_in &&
                         kernel.groups < kernel.channels_out;
  if (in_groups && (is_transposed || kernel.volume)) {
    return WorkKind::kRareConvolution;
  }
  const bool is_unusual =
      in_groups || is_transposed || kernel.volume || kernel.dilated;
  if (is_unusual) return WorkKind::kUnusualConvolution;
  return IsPlain(kernel) ? WorkKind::kPlainConvolution : WorkKind::kConvolution;
}

}  // namespace

WorkKind WorkKindOf(const Kernel& kernel) {
  switch (kernel.kernel_class) {
    case KernelClass::kGroupedConvolution:
    case KernelClass::kTransposedConvolution:
    case KernelClass::kPointwiseConvolution:
    case KernelClass::kDenseConvolution:
    case KernelClass::kStemConvolution:
    case KernelClass::kDepthwiseConvolution:
    case KernelClass::kNativeDepthwise:
      return KindOfConvolution(kernel);
    case KernelClass::kLinear:
    case KernelClass::kMatmul:
    case KernelClass::kFloatMatmul:
    case KernelClass::kAttention:
    case KernelClass::kAttentionBackward:
    case KernelClass::kRecurrent:
      return WorkKind::kProduct;
    default:
      return WorkKind::kMoving;
  }
}

}  // namespace cost

std::string_view WorkKindName(WorkKind kind) {
  constexpr std::array<std::string_view, kNumWorkKinds> kNames = {
      "moving",
      "product",
      "plain_convolution",
      "convolution",
      "unusual_convolution",
      "rare_convolution"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace foretell
