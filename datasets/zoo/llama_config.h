#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/zoo/family.h"
#include "datasets/zoo/token_norm.h"

namespace foretell::zoo {

/// Names of a block's layers, which adapters are chosen by.
struct LayerNames {
  std::string_view kind;
  std::string_view qkv;
  std::string_view out;
  std::string_view up;
  std::string_view down;
};

/// Numbers in a vision tower that the first of `tower` counts as one: a field
/// holds no number as large as theirs.
inline constexpr std::int64_t kTowerUnit = 1'000'000;

/// A decoder of language as transformers 4.45 to 4.57 runs it; defaults are
/// those of LLaMA-2-7B. Fields that are not said otherwise have their meaning
/// in transformers' configurations; docs/zoo.md has the table.
struct LlamaConfig {
  std::int64_t width = 4096;
  std::int64_t depth = 32;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 32;  ///< Of keys and values; divides heads.
  std::int64_t inner = 11008;
  std::int64_t vocabulary = 32000;
  std::int64_t positions = 4096;  ///< Longest sequence.
  double rotary_base = 10000;
  bool qkv_bias = false;
  bool head_norms = false;  ///< Of every head of queries and keys, as Qwen3's.
  bool tied_head = false;   ///< The embedding's weight is the head's too.
  /// Numbers in the weights of a vision tower, which a step on texts holds
  /// and does not run: in kTowerUnit and the rest; empty: no tower.
  std::vector<std::int64_t> tower;

  // Blocks.
  std::string norm = "rms";   ///< A name of ParseNormKind.
  bool pre_norms = true;      ///< Of what both branches read.
  bool post_norms = false;    ///< Of both branches' results, as Gemma 2.
  double residual_scale = 1;  ///< Multiplies both branches' results (Granite).
  /// Attention and the feed-forward part read the same input.
  bool parallel_blocks = false;
  std::int64_t parallel_norms = 1;  ///< Of a parallel block; GPT-NeoX has 2.
  double dropout = 0;  ///< Of branches and of learned positions' sum.

  // Attention.
  std::int64_t head_width = 0;  ///< 0: width / heads.
  /// Layers with a window have positions of their own, as Gemma 3.
  bool window_rotary = false;
  double rotary_share = 1;       ///< Of a head that turns with the position.
  std::string rotary = "llama";  ///< A name of ParseRotaryKind.
  /// Every n-th layer has no rotary positions (SmolLM3); 0: all have them.
  std::int64_t rotary_pattern = 0;
  bool scaled_queries = false;  ///< By their position, as Ministral 3.
  /// Instead of rotary positions, with GPTBigCode's unused table of visible
  /// keys, positions² bytes.
  bool positions_learned = false;
  bool width_norms = false;  ///< Of all queries, of all keys at once (OLMoE).
  bool late_head_norms = false;  ///< head_norms after the positions (Hunyuan).
  /// Kind of head_norms if not that of all norms; "l2" is Llama 4's, in layers
  /// with positions only.
  std::string head_norm;
  /// Of a query's result, from a product of its own in q_proj (Qwen3-Next).
  bool gated_attention = false;
  bool fused_qkv = false;  ///< One product, whose parts are views.
  bool copied_kv = false;  ///< Those parts are copied, as Falcon does.
  bool out_bias = false;
  std::int64_t window = 0;  ///< Keys that a query sees; 0: all before it.
  /// Every n-th layer has no window; 0: all layers have it.
  std::int64_t window_pattern = 0;
  /// A number per head that takes part in the softmax (gpt-oss).
  bool sinks = false;
  double attention_softcap = 0;  ///< Of "eager" and "flex"; 0: none.
  double attention_dropout = 0;
  /// Or "eager"; "flash" or "flex", which have no masks.
  std::string attention = "sdpa";
  /// Copies keys and values for every query head before fused attention, as
  /// transformers before 4.54.
  bool repeat_kv = false;
  /// Rows hold several sequences: "sdpa" and "eager" get a mask.
  bool packed = false;

  // Gated delta nets instead of attention, as Qwen3-Next has them.
  std::int64_t linear_pattern = 0;  ///< All but every n-th layer; 0: none.
  std::int64_t linear_key_heads = 16;
  std::int64_t linear_value_heads = 32;
  std::int64_t linear_key_width = 128;  ///< Of a head.
  std::int64_t linear_value_width = 128;
  std::int64_t linear_kernel = 4;  ///< Tokens that the convolution sees.
  bool linear_split = false;       ///< Four projections, as Qwen3.5's.

  // Feed-forward part.
  std::string activation = "silu";  ///< A name of FindTokenActivation.
  bool mlp_gate = true;             ///< false: two plain layers.
  bool fused_gate_up = false;
  bool mlp_bias = false;
  /// Whose names the layers have: llama, phi, starcoder2, gpt_neox (Falcon too)
  /// or gpt_bigcode.
  std::string layer_names = "llama";
  std::int64_t experts = 0;  ///< 0: none; RoutedExperts says what it assumes.
  std::int64_t experts_per_token = 2;
  std::int64_t expert_inner = 0;  ///< 0: inner.
  /// Of the shared expert, which Qwen2-MoE gates and others do not; 0: none.
  std::int64_t shared_inner = 0;
  /// Whose router and experts: mixtral (Qwen's and OLMoE's too), glm4, granite,
  /// gpt_oss or llama4.
  std::string moe = "mixtral";
  std::int64_t first_dense = 0;     ///< First layers without experts.
  std::int64_t expert_pattern = 0;  ///< Every n-th layer has experts; 0: all.
  bool norm_topk = true;            ///< Scales a token's weights to a sum of 1.

  // Embedding and logits.
  double embedding_scale = 1;  ///< √width in Gemma.
  double logits_scale = 1;     ///< Divides the logits, as Granite does.
  double logit_softcap = 0;    ///< 0: none.
  bool head_bias = false;
  /// Returns logits in 32 bits, as transformers before 4.46.
  bool upcast_logits = false;
  /// The loss copies the logits of all tokens except the last, as transformers
  /// before 4.49.
  bool shift_logits = false;
  /// false: with shift_logits the loss has the type of the logits, as
  /// gpt_bigcode's of transformers 4.45.
  bool upcast_loss = true;
  /// Training returns the fused projections, of which keys and values are
  /// parts, as gpt_bigcode, which uses its cache under checkpointing too.
  bool returned_cache = false;

  std::string phase = "forward";  ///< Or "prefill", "decode".
  /// Tokens: in decode those in the cache before the step; in prefill those
  /// that it has room for (0: the prompt).
  std::int64_t cache = 0;
  /// In prefill, logits of every token and once more in 32 bits, as
  /// transformers before 4.45 returned them.
  bool all_logits = false;
  std::int64_t seq = 512;  ///< Tokens; ignored in decode, which has one.

  FORETELL_FIELDS(
      width, depth, heads, kv_heads, inner, vocabulary, positions, rotary_base,
      qkv_bias, head_norms, tied_head, tower, norm, pre_norms, post_norms,
      residual_scale, parallel_blocks, parallel_norms, dropout, head_width,
      rotary_share, rotary, rotary_pattern, scaled_queries, positions_learned,
      width_norms, late_head_norms, head_norm, gated_attention, window_rotary,
      linear_pattern, linear_key_heads, linear_value_heads, linear_key_width,
      linear_value_width, linear_kernel, linear_split, fused_qkv, copied_kv,
      out_bias, window, window_pattern, sinks, attention_softcap,
      attention_dropout, attention, repeat_kv, packed, activation, mlp_gate,
      fused_gate_up, mlp_bias, layer_names, experts, experts_per_token,
      expert_inner, shared_inner, moe, first_dense, expert_pattern, norm_topk,
      embedding_scale, logits_scale, logit_softcap, head_bias, upcast_logits,
      shift_logits, upcast_loss, returned_cache, phase, cache, all_logits, seq)

  bool IsDecoding() const { return phase == "decode"; }
  std::int64_t HeadWidth() const;
  /// Numbers of a head that turn with the position.
  std::int64_t TurnedWidth() const;
  std::int64_t Tokens() const { return IsDecoding() ? 1 : seq; }
  /// Tokens that the cache has room for.
  std::int64_t Room() const;
  /// Whether layer `layer`, from 0, has a window.
  bool HasWindow(std::int64_t layer) const;
  bool HasExperts(std::int64_t layer) const;
  std::int64_t TowerNumbers() const;
  /// Whether it is a gated delta net.
  bool IsLinear(std::int64_t layer) const;
  /// Whether its queries and keys turn with the position.
  bool IsRotary(std::int64_t layer) const;
  /// Throws Error(kInvalidArgument) if layer_names names no known scheme.
  const LayerNames& Names() const;
  std::shared_ptr<TokenNorm> MakeNorm(std::int64_t size) const;

  std::vector<InputSpec> Inputs() const;
  /// Throws Error(kInvalidArgument) that names fields which contradict.
  void Check() const;
  std::shared_ptr<Network> Make() const;
};

}  // namespace foretell::zoo
