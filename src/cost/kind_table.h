#pragma once

#include <algorithm>
#include <iterator>

#include "foretell/graph.h"

namespace foretell::cost {

/// What the nodes of one kind cost beside the products that MACs count.
struct KindCost {
  OpKind kind;
  /// Share of the peak bandwidth at which operands and results move, each
  /// counted once; a kind whose kernels pass over its operands several times
  /// has the smaller share.
  double memory_efficiency;
  double flops_per_element;  ///< FP32 lanes, per element of the largest tensor.
  int kernels;               ///< Launched per node.
  double dispatch_us;        ///< CPU time of the operator called from C++.
};

// clang-format off

/// By OpKind, in its order.
///
/// Measured on A100 (scripts/published/fit_cost_table.py): elementwise 0.87 of peak
/// bandwidth, GELU 0.89, softmax 0.66, layer norm 0.59, matrix products 0.70
/// (BF16) and 0.61 (FP32). All else, and the dispatch times, is judgement:
/// published Python runs of convolutional networks at batch 1 with autograd
/// take 26 to 30 us per operator, C++ without autograd about half.
inline constexpr KindCost kKindCosts[] = {
    // kind                            memory flops kernels dispatch
    {OpKind::kConvolution,            0.70,   0,  1,  20},
    {OpKind::kTransposedConvolution,  0.60,   0,  1,  24},
    {OpKind::kConvolutionBackward,    0.60,   0,  2,  40},
    {OpKind::kLinear,                 0.70,   0,  1,  12},
    {OpKind::kMatmul,                 0.70,   0,  1,  10},
    {OpKind::kEinsum,                 0.60,   0,  2,  30},
    {OpKind::kAttention,              0.70,   0,  1,  20},
    {OpKind::kAttentionBackward,      0.60,   0,  3,  30},
    {OpKind::kRecurrent,              0.50,   0,  1,  60},
    {OpKind::kRecurrentBackward,      0.50,   0,  2,  80},
    {OpKind::kEmbedding,              0.60,   0,  1,  10},
    {OpKind::kEmbeddingBackward,      0.20,   0,  4,  25},
    {OpKind::kBatchNorm,              0.75,   4,  1,  15},
    {OpKind::kLayerNorm,              0.59,   8,  1,  12},
    {OpKind::kGroupNorm,              0.50,   8,  2,  15},
    {OpKind::kInstanceNorm,           0.50,   8,  2,  25},
    {OpKind::kRmsNorm,                0.30,   8,  5,  25},
    {OpKind::kLocalResponseNorm,      0.20,  12,  6,  40},
    {OpKind::kNormBackward,           0.50,  12,  2,  18},
    {OpKind::kSoftmax,                0.66,   8,  1,   8},
    {OpKind::kSoftmaxBackward,        0.66,   6,  1,   8},
    {OpKind::kRelu,                   0.87,   1,  1,   6},
    {OpKind::kGelu,                   0.89,  20,  1,   6},
    {OpKind::kSilu,                   0.87,  10,  1,   6},
    {OpKind::kSigmoid,                0.87,  10,  1,   6},
    {OpKind::kTanh,                   0.87,  10,  1,   6},
    {OpKind::kHardActivation,         0.87,   4,  1,   6},
    {OpKind::kOtherActivation,        0.80,  12,  1,   8},
    {OpKind::kActivationBackward,     0.87,   6,  1,   7},
    {OpKind::kMaxPool,                0.60,   9,  1,  10},
    {OpKind::kAveragePool,            0.60,   9,  1,  10},
    {OpKind::kPoolBackward,           0.45,   9,  1,  12},
    {OpKind::kAdd,                    0.87,   1,  1,   7},
    {OpKind::kSubtract,               0.87,   1,  1,   7},
    {OpKind::kMultiply,               0.87,   1,  1,   7},
    {OpKind::kDivide,                 0.87,   2,  1,   7},
    {OpKind::kElementwise,            0.83,   8,  1,   7},
    {OpKind::kCompare,                0.80,   1,  1,   7},
    {OpKind::kSelect,                 0.80,   1,  1,   8},
    {OpKind::kReduce,                 0.70,   1,  1,  10},
    {OpKind::kArgReduce,              0.60,   2,  1,  10},
    {OpKind::kSort,                   0.05,  40,  6,  30},
    {OpKind::kCumulative,             0.40,   2,  2,  10},
    {OpKind::kView,                   0.60,   0,  1,   2},
    {OpKind::kCopy,                   0.60,   0,  1,   7},
    {OpKind::kCast,                   0.80,   1,  1,   8},
    {OpKind::kConcat,                 0.70,   0,  1,  10},
    {OpKind::kPad,                    0.60,   0,  2,  12},
    {OpKind::kUpsample,               0.50,   8,  1,  10},
    {OpKind::kUpsampleBackward,       0.30,   8,  1,  12},
    {OpKind::kGather,                 0.50,   0,  1,  12},
    {OpKind::kScatter,                0.25,   0,  2,  15},
    {OpKind::kFill,                   0.87,   0,  1,   6},
    {OpKind::kRandom,                 0.60,  10,  1,   8},
    {OpKind::kDropout,                0.70,  10,  1,  10},
    {OpKind::kFft,                    0.40,  40,  2,  25},
    {OpKind::kDetection,              0.10,  40,  6,  60},
    {OpKind::kLoss,                   0.50,  10,  2,  15},
    {OpKind::kOptimizerUpdate,        0.75,   2,  1,  20},
    {OpKind::kOther,                  0.50,   4,  1,  10},
};
// clang-format on
static_assert(std::size(kKindCosts) == kNumOpKinds);
static_assert(std::ranges::is_sorted(kKindCosts, {}, &KindCost::kind));

constexpr const KindCost& CostOf(OpKind kind) {
  return kKindCosts[static_cast<std::size_t>(kind)];
}

}  // namespace foretell::cost
