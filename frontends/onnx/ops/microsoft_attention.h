#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "frontends/onnx/node_context.h"

/// Lowerings of com.microsoft's attention operators, rows in microsoft.cc.
namespace foretell::onnx {

/// Positions of the optional inputs of an attention with one projection; an
/// input that the operator lacks has one beyond its last.
struct AttentionPlaces {
  size_t mask;
  size_t past;
  size_t bias;  ///< Of the scores.
};

/// num_heads. Throws kCorrupt without it.
std::int64_t HeadsOf(const NodeContext& ctx);
/// Sizes of queries, keys and values in the columns of the projection of all
/// three. Throws kCorrupt where qkv_hidden_sizes are not three that add up to
/// `columns`.
std::vector<std::int64_t> ProjectionSizes(const NodeContext& ctx,
                                          std::int64_t columns);
/// Input `i` plus its part, from `first` on, of input 3, the bias of all
/// projections, if that is given.
at::Tensor WithBias(NodeContext& ctx, size_t i, std::int64_t first);

/// Attends with queries, keys and values that are columns of `projected`
/// [batch, sequence, …]; the node's attributes and outputs are Attention's.
void AttendProjected(NodeContext& ctx, const at::Tensor& projected,
                     const AttentionPlaces& places);

/// Attention: one projection to queries, keys and values, then attention.
void LowerMicrosoftAttention(NodeContext& ctx);
/// GroupQueryAttention: causal, with a growing cache and rotary positions.
void LowerGroupQueryAttention(NodeContext& ctx);
/// MultiHeadAttention: projected, in several packings.
void LowerMultiHeadAttention(NodeContext& ctx);
/// RemovePadding and RestorePadding, as if there were none.
void LowerRemovePadding(NodeContext& ctx);
void LowerRestorePadding(NodeContext& ctx);
/// PackedAttention, PackedMultiHeadAttention: of tokens without padding.
void LowerPackedAttention(NodeContext& ctx);
void LowerPackedMultiHeadAttention(NodeContext& ctx);
/// RotaryEmbedding: positions before the caches, or one offset for all.
void LowerMicrosoftRotaryEmbedding(NodeContext& ctx);

}  // namespace foretell::onnx
