#include "src/cost/work_kind.h"

#include <array>

// Kinds of operators whose predicted times err alike. Products and kernels that
// move data are priced from sources that are public; which kernel cuDNN takes
// for a convolution is not, and for groups, volumes and transpositions it has
// many.

namespace foretell {
namespace cost {

WorkKind WorkKindOf(const Kernel& kernel) {
  switch (kernel.kernel_class) {
    case KernelClass::kGroupedConvolution:
    case KernelClass::kTransposedConvolution:
      return WorkKind::kUnusualConvolution;
    case KernelClass::kPointwiseConvolution:
    case KernelClass::kDenseConvolution:
    case KernelClass::kStemConvolution:
    case KernelClass::kDepthwiseConvolution:
    case KernelClass::kNativeDepthwise:
      return kernel.volume || kernel.dilated ? WorkKind::kUnusualConvolution
                                             : WorkKind::kConvolution;
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
      "moving", "product", "convolution", "unusual_convolution"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace foretell
