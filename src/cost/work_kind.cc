#include "src/cost/work_kind.h"

#include <array>

// Kinds of operators whose predicted times err alike. Products and kernels that
// move data are priced from sources that are public; which kernel cuDNN takes
// for a convolution is not, and for groups, volumes and transpositions it has
// many. For volumes and transpositions in groups it may have a single one that
// takes many times as long.

namespace foretell {
namespace cost {
namespace {

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
  return is_unusual ? WorkKind::kUnusualConvolution : WorkKind::kConvolution;
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
      "moving", "product", "convolution", "unusual_convolution",
      "rare_convolution"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace foretell
