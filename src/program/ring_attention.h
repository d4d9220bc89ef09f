#pragma once

#include "foretell/parallel.h"
#include "src/program/meta/attention.h"

namespace foretell {

/// Attention of the first of `spec.gpus` GPUs, each of which has a part of all
/// sequences: `in` has that GPU's queries, keys and values, [batch, heads,
/// tokens, size].
///
/// Throws Error(kInvalidArgument) for what PyTorch cannot share: attention with
/// a mask, without a fused kernel, or causal with tokens that are no pairs
/// unless `spec.unbalanced`.
at::Tensor RingAttention(const meta::AttentionInputs& in,
                         const ParallelSpec& spec);

}  // namespace foretell
