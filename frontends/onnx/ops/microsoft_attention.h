#pragma once

#include "frontends/onnx/node_context.h"

/// Lowerings of com.microsoft's attention operators, rows in microsoft.cc.
namespace foretell::onnx {

/// Attention: one projection to queries, keys and values, then attention.
void LowerMicrosoftAttention(NodeContext& ctx);
/// GroupQueryAttention: causal, with a growing cache and rotary positions.
void LowerGroupQueryAttention(NodeContext& ctx);
/// MultiHeadAttention: projected, in several packings.
void LowerMultiHeadAttention(NodeContext& ctx);
/// RotaryEmbedding: positions before the caches, or one offset for all.
void LowerMicrosoftRotaryEmbedding(NodeContext& ctx);

}  // namespace foretell::onnx
