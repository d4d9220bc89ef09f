#pragma once

#include <algorithm>

#include "foretell/graph.h"

namespace foretell {

/// Kinds of products, fused attention and recurrent layers included, forward
/// and backward.
constexpr bool IsProductKind(OpKind kind) {
  constexpr OpKind kKinds[] = {OpKind::kConvolution,
                               OpKind::kTransposedConvolution,
                               OpKind::kConvolutionBackward,
                               OpKind::kLinear,
                               OpKind::kMatmul,
                               OpKind::kEinsum,
                               OpKind::kAttention,
                               OpKind::kAttentionBackward,
                               OpKind::kRecurrent,
                               OpKind::kRecurrentBackward};
  return std::ranges::count(kKinds, kind) > 0;
}

/// Kinds of arithmetic on each element.
constexpr bool IsElementwiseKind(OpKind kind) {
  constexpr OpKind kKinds[] = {OpKind::kRelu,
                               OpKind::kGelu,
                               OpKind::kSilu,
                               OpKind::kSigmoid,
                               OpKind::kTanh,
                               OpKind::kHardActivation,
                               OpKind::kOtherActivation,
                               OpKind::kActivationBackward,
                               OpKind::kAdd,
                               OpKind::kSubtract,
                               OpKind::kMultiply,
                               OpKind::kDivide,
                               OpKind::kElementwise,
                               OpKind::kCompare,
                               OpKind::kSelect};
  return std::ranges::count(kKinds, kind) > 0;
}

}  // namespace foretell
