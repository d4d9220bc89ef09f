#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "foretell/graph.h"

namespace foretell::cost {

/// CPU time of one operator of a kind, called from C++.
struct HostTime {
  OpKind kind;
  double dispatch_us;
};

// clang-format off

/// By OpKind, in its order. Judgement: published Python runs of convolutional
/// networks at batch 1 with autograd take 26 to 30 us per operator, C++ without
/// autograd about half.
inline constexpr HostTime kHostTimes[] = {
    {OpKind::kConvolution,            20},
    {OpKind::kTransposedConvolution,  24},
    {OpKind::kConvolutionBackward,    40},
    {OpKind::kLinear,                 12},
    {OpKind::kMatmul,                 10},
    {OpKind::kEinsum,                 30},
    {OpKind::kAttention,              20},
    {OpKind::kAttentionBackward,      30},
    {OpKind::kRecurrent,              60},
    {OpKind::kRecurrentBackward,      80},
    {OpKind::kEmbedding,              10},
    {OpKind::kEmbeddingBackward,      25},
    {OpKind::kBatchNorm,              15},
    {OpKind::kLayerNorm,              12},
    {OpKind::kGroupNorm,              15},
    {OpKind::kInstanceNorm,           25},
    {OpKind::kRmsNorm,                25},
    {OpKind::kLocalResponseNorm,      40},
    {OpKind::kNormBackward,           18},
    {OpKind::kSoftmax,                8},
    {OpKind::kSoftmaxBackward,        8},
    {OpKind::kRelu,                   6},
    {OpKind::kGelu,                   6},
    {OpKind::kSilu,                   6},
    {OpKind::kSigmoid,                6},
    {OpKind::kTanh,                   6},
    {OpKind::kHardActivation,         6},
    {OpKind::kOtherActivation,        8},
    {OpKind::kActivationBackward,     7},
    {OpKind::kMaxPool,                10},
    {OpKind::kAveragePool,            10},
    {OpKind::kPoolBackward,           12},
    {OpKind::kAdd,                    7},
    {OpKind::kSubtract,               7},
    {OpKind::kMultiply,               7},
    {OpKind::kDivide,                 7},
    {OpKind::kElementwise,            7},
    {OpKind::kCompare,                7},
    {OpKind::kSelect,                 8},
    {OpKind::kReduce,                 10},
    {OpKind::kArgReduce,              10},
    {OpKind::kSort,                   30},
    {OpKind::kCumulative,             10},
    {OpKind::kView,                   2},
    {OpKind::kCopy,                   7},
    {OpKind::kCast,                   8},
    {OpKind::kConcat,                 10},
    {OpKind::kPad,                    12},
    {OpKind::kUpsample,               10},
    {OpKind::kUpsampleBackward,       12},
    {OpKind::kGather,                 12},
    {OpKind::kScatter,                15},
    {OpKind::kFill,                   6},
    {OpKind::kRandom,                 8},
    {OpKind::kDropout,                10},
    {OpKind::kFft,                    25},
    {OpKind::kDetection,              60},
    {OpKind::kLoss,                   15},
    {OpKind::kOptimizerUpdate,        20},
    {OpKind::kCollective,             20},
    {OpKind::kOther,                  10},
};
// clang-format on
static_assert(std::size(kHostTimes) == kNumOpKinds);
static_assert(std::ranges::is_sorted(kHostTimes, {}, &HostTime::kind));

constexpr double DispatchUs(OpKind kind) {
  return kHostTimes[static_cast<std::size_t>(kind)].dispatch_us;
}

}  // namespace foretell::cost
