#pragma once

#include "foretell/parallel.h"
#include "src/program/meta/attention.h"

namespace foretell {

/// Attention of the first of `spec.gpus` GPUs, each of which has a part of all
/// sequences: `in` has that GPU's queries, keys and values, [batch, heads,
/// tokens, size]. Returns the results of its queries, of the same shape but for
/// the size of the values.
///
/// Throws Error(kInvalidArgument) for what PyTorch cannot share: attention with
/// a mask or without a fused kernel; causal attention of an odd number of
/// tokens, unless `spec.unbalanced`; and rounds whose tokens the
/// memory-efficient kernel pads.
at::Tensor RingAttention(const meta::AttentionInputs& in,
                         const ParallelSpec& spec);

}  // namespace foretell
