// Decoders whose blocks are LLaMA's with other norms, positions or experts.
// Keys and defaults are those of configuration_*.py in transformers 4.57.6, of
// Ministral 3 and Qwen3.5 in 5.17.

#include <algorithm>
#include <array>

#include "datasets/zoo/hub_decoder_keys.h"
#include "datasets/zoo/hub_types.h"
#include "datasets/zoo/hub_values.h"

namespace foretell::zoo {
namespace {

using ClassNames = std::string_view;

constexpr std::string_view kShareKey =
    "rope_parameters.partial_rotary_factor|partial_rotary_factor";
constexpr std::string_view kWindowPatternKey =
    "layer_types|sliding_window_pattern";

/// The keys of both tables.
template <std::size_t N, std::size_t M>
constexpr std::array<HubKey, N + M> JoinedKeys(const HubKey (&first)[N],
                                               const HubKey (&second)[M]) {
  std::array<HubKey, N + M> keys;
  std::ranges::copy(second, std::ranges::copy(first, keys.begin()).out);
  return keys;
}

constexpr HubKey kSmolLm3Own[] = {
    {"hidden_size", "width", "2048"},
    {"num_hidden_layers", "depth", "36"},
    {"num_attention_heads", "heads", "16"},
    {"num_key_value_heads", "kv_heads", "4"},
    {"vocab_size", "vocabulary", "128256"},
    {"max_position_embeddings", "positions", "32768"},
    {"tie_word_embeddings", "tied_head", "true"},
    {"no_rope_layers|no_rope_layer_interval", "rotary_pattern", "4", "", "4",
     &PositionPattern},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"mlp_bias", "mlp_bias", "false"},
    {"use_sliding_window", "", "false", "false", "", nullptr, true},
};
constexpr HubKey kGlmOwn[] = {
    {"num_hidden_layers", "depth", "40"},
    {"num_key_value_heads", "kv_heads", "2"},
    {"head_dim", "head_width", "128", "", "0", &HeadWidth},
    {"intermediate_size", "inner", "13696"},
    {"vocab_size", "vocabulary", "151552"},
    {"max_position_embeddings", "positions", "131072"},
    {kShareKey, "rotary_share", "0.5"},
    {"attention_bias", "qkv_bias", "true"},
    {"", "rotary", "glm"},
    {"", "fused_gate_up", "true"},
};
constexpr auto kGlm4Own = JoinedKeys(kGlmOwn, {{"", "post_norms", "true"}});
constexpr HubKey kGlm4MoeOwn[] = {
    {"num_hidden_layers", "depth", "46"},
    {"num_attention_heads", "heads", "96"},
    {"num_key_value_heads", "kv_heads", "8"},
    {"head_dim", "head_width", "128", "", "0", &HeadWidth},
    {"intermediate_size", "inner", "10944"},
    {"vocab_size", "vocabulary", "151552"},
    {"max_position_embeddings", "positions", "131072"},
    {kShareKey, "rotary_share", "0.5"},
    {"attention_bias", "qkv_bias", "false"},
    {"use_qk_norm", "head_norms", "false"},
    {"n_routed_experts|num_experts", "experts", "128"},
    {"num_experts_per_tok", "experts_per_token", "8"},
    {"moe_intermediate_size", "expert_inner", "1408"},
    {"n_shared_experts", "shared_inner", "1", "", "0", &SharedInner},
    {"first_k_dense_replace", "first_dense", "1"},
    {"norm_topk_prob", "norm_topk", "true"},
    {"", "moe", "glm4"},
};
constexpr HubKey kCohereKeys[] = {
    {"hidden_size", "width", "8192"},
    {"num_hidden_layers", "depth", "40"},
    {"num_attention_heads", "heads", "64"},
    {"intermediate_size", "inner", "22528"},
    {"vocab_size", "vocabulary", "256000"},
    {"max_position_embeddings", "positions", "8192"},
    {"tie_word_embeddings", "tied_head", "true"},
    {"logit_scale", "logits_scale", "0.0625", "", "1", &Reciprocal},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"", "norm", "cohere"},
    {"", "rotary", "cohere"},
    {"", "parallel_blocks", "true"},
};
constexpr auto kCohereOwn =
    JoinedKeys(kCohereKeys, {{"use_qk_norm", "", "false", "false"}});
constexpr auto kCohere2Own = JoinedKeys(
    kCohereKeys,
    {
        {"sliding_window", "window", "4096", "", "0"},
        {kWindowPatternKey, "window_pattern", "4", "", "4", &WindowPattern},
        {kWindowPatternKey, "rotary_pattern", "4", "", "4", &WindowPattern},
    });
constexpr HubKey kGraniteMoeOwn[] = {
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"embedding_multiplier", "embedding_scale", "1"},
    {"residual_multiplier", "residual_scale", "1"},
    {"logits_scaling", "logits_scale", "1"},
    {"num_local_experts", "experts", "8"},
    {"num_experts_per_tok", "experts_per_token", "2"},
    {"", "moe", "granite"},
};
constexpr HubKey kNemotronOwn[] = {
    {"hidden_size", "width", "6144"},
    {"num_attention_heads", "heads", "48"},
    {"head_dim", "head_width", "0", "", "0", &HeadWidth},
    {"intermediate_size", "inner", "24576"},
    {"vocab_size", "vocabulary", "256000"},
    {"max_position_embeddings", "positions", "4096"},
    {"hidden_act", "activation", "relu2"},
    {kShareKey, "rotary_share", "0.5"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"mlp_bias", "mlp_bias", "false"},
    {"", "norm", "layer1p"},
    {"", "mlp_gate", "false"},
    {"", "repeat_kv", "true"},
};
constexpr HubKey kExaone4Own[] = {
    {"intermediate_size", "inner", "16384"},
    {"num_key_value_heads", "kv_heads", "32", "", "=num_attention_heads"},
    {"vocab_size", "vocabulary", "102400"},
    {"sliding_window", "window", "4096", "", "0"},
    {kWindowPatternKey, "window_pattern", "4", "", "0", &WindowPattern},
    {kWindowPatternKey, "rotary_pattern", "4", "", "0", &PatternIfWindow},
    {"", "head_norms", "true"},
    {"", "pre_norms", "false"},
    {"", "post_norms", "true"},
};
constexpr HubKey kErnieOwn[] = {
    {"hidden_size", "width", "1024"},
    {"num_hidden_layers", "depth", "18"},
    {"num_attention_heads", "heads", "16"},
    {"num_key_value_heads", "kv_heads", "2"},
    {"head_dim", "head_width", "128", "", "0", &HeadWidth},
    {"intermediate_size", "inner", "3072"},
    {"vocab_size", "vocabulary", "103424"},
    {"max_position_embeddings", "positions", "131072"},
    {"tie_word_embeddings", "tied_head", "true"},
    {"use_bias", "qkv_bias", "false"},
    {"use_bias", "out_bias", "false"},
    {"use_bias", "mlp_bias", "false"},
    {"", "rotary", "ernie"},
};
constexpr HubKey kHunyuanOwn[] = {
    {"vocab_size", "vocabulary", "290943"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"", "head_norms", "true"},
    {"", "late_head_norms", "true"},
};
constexpr HubKey kSeedOssOwn[] = {
    {"num_hidden_layers", "depth", "64"},
    {"num_attention_heads", "heads", "80"},
    {"num_key_value_heads", "kv_heads", "8"},
    {"head_dim", "head_width", "128", "", "0", &HeadWidth},
    {"intermediate_size", "inner", "27648"},
    {"vocab_size", "vocabulary", "155136"},
    {"max_position_embeddings", "positions", "524288"},
    {"attention_bias", "qkv_bias", "true"},
    {"attention_out_bias", "out_bias", "false"},
    {"mlp_bias", "mlp_bias", "false"},
    {"attention_dropout", "attention_dropout", "0.1"},
    {"residual_dropout", "dropout", "0.1"},
};
constexpr HubKey kArceeOwn[] = {
    {"hidden_size", "width", "2560"},
    {"intermediate_size", "inner", "18432"},
    {"max_position_embeddings", "positions", "4096"},
    {"hidden_act", "activation", "relu2"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"mlp_bias", "mlp_bias", "false"},
    {"", "mlp_gate", "false"},
};
constexpr HubKey kOlmoOwn[] = {
    {"vocab_size", "vocabulary", "50304"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"clip_qkv", "", "none", "none", "none", nullptr, true},
    {"", "norm", "olmo"},
    {"", "rotary", "olmo"},
};
constexpr HubKey kOlmo2Own[] = {
    {"vocab_size", "vocabulary", "50304"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"", "norm", "olmo2"},
    {"", "rotary", "olmo"},
    {"", "width_norms", "true"},
    {"", "pre_norms", "false"},
    {"", "post_norms", "true"},
};
constexpr auto kOlmo3Own = JoinedKeys(
    kOlmo2Own,
    {
        {"sliding_window", "window", "4096", "", "0"},
        {kWindowPatternKey, "window_pattern", "4", "", "4", &WindowPattern},
        {"", "window_rotary", "true"},
    });
constexpr HubKey kMinistralOwn[] = {
    {"intermediate_size", "inner", "14336"},
    {"num_key_value_heads", "kv_heads", "8", "", "=num_attention_heads"},
    {"max_position_embeddings", "positions", "131072"},
    {"sliding_window", "window", "4096", "", "0"},
    {kWindowPatternKey, "window_pattern", "0", "", "0", &WindowPattern},
};
constexpr HubKey kMinistral3Own[] = {
    {"num_hidden_layers", "depth", "34"},
    {"num_key_value_heads", "kv_heads", "8", "", "=num_attention_heads"},
    {"head_dim", "head_width", "128", "", "0", &HeadWidth},
    {"intermediate_size", "inner", "14336"},
    {"vocab_size", "vocabulary", "131072"},
    {"max_position_embeddings", "positions", "262144"},
    {"sliding_window", "window", "0", "", "0"},
    {"", "scaled_queries", "true"},
};
constexpr HubKey kGptOssOwn[] = {
    {"hidden_size", "width", "2880"},
    {"num_hidden_layers", "depth", "36"},
    {"num_attention_heads", "heads", "64"},
    {"num_key_value_heads", "kv_heads", "8"},
    {"head_dim", "head_width", "64", "", "0", &HeadWidth},
    {"intermediate_size", "inner", "2880"},
    {"vocab_size", "vocabulary", "201088"},
    {"max_position_embeddings", "positions", "131072"},
    {"sliding_window", "window", "128", "", "0"},
    {kWindowPatternKey, "window_pattern", "2", "", "2", &WindowPattern},
    {"num_local_experts|num_experts", "experts", "128"},
    {"num_experts_per_tok|experts_per_token", "experts_per_token", "4"},
    {"attention_bias", "qkv_bias", "true"},
    {"attention_bias", "out_bias", "true"},
    {"", "norm", "olmo2"},
    {"", "rotary", "gpt_oss"},
    {"", "sinks", "true"},
    {"", "attention", "eager"},
    {"", "moe", "gpt_oss"},
};
constexpr HubKey kLlama4Own[] = {
    {"hidden_size", "width", "5120"},
    {"num_hidden_layers", "depth", "48"},
    {"num_attention_heads", "heads", "40"},
    {"num_key_value_heads", "kv_heads", "8"},
    {"head_dim", "head_width", "128", "", "0", &HeadWidth},
    {"intermediate_size_mlp", "inner", "16384"},
    {"intermediate_size", "expert_inner", "8192"},
    {"vocab_size", "vocabulary", "202048"},
    {"max_position_embeddings", "positions", "131072"},
    {"attention_chunk_size", "window", "8192", "", "0"},
    {"no_rope_layers|no_rope_layer_interval", "rotary_pattern", "4", "", "4",
     &PositionPattern},
    {"no_rope_layers|no_rope_layer_interval", "window_pattern", "4", "", "4",
     &PositionPattern},
    {"num_local_experts", "experts", "16"},
    {"num_experts_per_tok", "experts_per_token", "1"},
    {"interleave_moe_layer_step", "expert_pattern", "1"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"use_qk_norm", "head_norms", "true"},
    {"use_qk_norm", "late_head_norms", "true"},
    {"", "head_norm", "l2"},
    {"", "rotary", "olmo"},
    {"", "moe", "llama4"},
};
/// Of networks whose layers are gated delta nets but for every n-th.
constexpr HubKey kDeltaNetKeys[] = {
    {"num_attention_heads", "heads", "16"},
    {"head_dim", "head_width", "256", "", "0", &HeadWidth},
    {"max_position_embeddings", "positions", "32768"},
    {kShareKey, "rotary_share", "0.25"},
    {"layer_types|full_attention_interval", "linear_pattern", "4", "", "4",
     &WindowPattern},
    {"linear_num_key_heads", "linear_key_heads", "16"},
    {"linear_num_value_heads", "linear_value_heads", "32"},
    {"linear_key_head_dim", "linear_key_width", "128"},
    {"linear_value_head_dim", "linear_value_width", "128"},
    {"linear_conv_kernel_dim", "linear_kernel", "4"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"", "head_norms", "true"},
    {"", "gated_attention", "true"},
    {"", "norm", "gemma"},
};
constexpr auto kQwen3NextOwn =
    JoinedKeys(kDeltaNetKeys,
               {
                   {"hidden_size", "width", "2048"},
                   {"num_hidden_layers", "depth", "48"},
                   {"num_key_value_heads", "kv_heads", "2"},
                   {"intermediate_size", "inner", "5632"},
                   {"vocab_size", "vocabulary", "151936"},
                   {"num_experts|num_local_experts", "experts", "512"},
                   {"num_experts_per_tok", "experts_per_token", "10"},
                   {"moe_intermediate_size", "expert_inner", "512"},
                   {"shared_expert_intermediate_size", "shared_inner", "512"},
                   {"norm_topk_prob", "norm_topk", "true"},
                   {"decoder_sparse_step", "expert_pattern", "1"},
               });
constexpr auto kQwen35Own =
    JoinedKeys(kDeltaNetKeys, {
                                  {"num_hidden_layers", "depth", "32"},
                                  {"num_key_value_heads", "kv_heads", "4"},
                                  {"intermediate_size", "inner", "12288"},
                                  {"vocab_size", "vocabulary", "248320"},
                                  {"", "linear_split", "true"},
                              });
constexpr auto kQwen35MoeOwn =
    JoinedKeys(kDeltaNetKeys,
               {
                   {"hidden_size", "width", "2048"},
                   {"num_hidden_layers", "depth", "40"},
                   {"num_key_value_heads", "kv_heads", "2"},
                   {"vocab_size", "vocabulary", "248320"},
                   {"num_experts|num_local_experts", "experts", "256"},
                   {"num_experts_per_tok", "experts_per_token", "8"},
                   {"moe_intermediate_size", "expert_inner", "512"},
                   {"shared_expert_intermediate_size", "shared_inner", "512"},
                   {"", "linear_split", "true"},
               });

constexpr ClassNames kSmolLm3Classes[] = {"SmolLM3ForCausalLM"};
constexpr ClassNames kGlmClasses[] = {"GlmForCausalLM"};
constexpr ClassNames kGlm4Classes[] = {"Glm4ForCausalLM"};
constexpr ClassNames kGlm4MoeClasses[] = {"Glm4MoeForCausalLM"};
constexpr ClassNames kCohereClasses[] = {"CohereForCausalLM"};
constexpr ClassNames kCohere2Classes[] = {"Cohere2ForCausalLM"};
constexpr ClassNames kGraniteMoeClasses[] = {"GraniteMoeForCausalLM"};
constexpr ClassNames kNemotronClasses[] = {"NemotronForCausalLM"};
constexpr ClassNames kExaone4Classes[] = {"Exaone4ForCausalLM"};
constexpr ClassNames kErnieClasses[] = {"Ernie4_5ForCausalLM"};
constexpr ClassNames kHunyuanClasses[] = {"HunYuanDenseV1ForCausalLM"};
constexpr ClassNames kSeedOssClasses[] = {"SeedOssForCausalLM"};
constexpr ClassNames kArceeClasses[] = {"ArceeForCausalLM"};
constexpr ClassNames kOlmoClasses[] = {"OlmoForCausalLM"};
constexpr ClassNames kOlmo2Classes[] = {"Olmo2ForCausalLM"};
constexpr ClassNames kOlmo3Classes[] = {"Olmo3ForCausalLM"};
constexpr ClassNames kMinistralClasses[] = {"MinistralForCausalLM"};
constexpr ClassNames kMinistral3Classes[] = {"Ministral3ForCausalLM"};
constexpr ClassNames kGptOssClasses[] = {"GptOssForCausalLM"};
constexpr ClassNames kLlama4Classes[] = {"Llama4ForCausalLM"};
constexpr ClassNames kQwen3NextClasses[] = {"Qwen3NextForCausalLM"};
constexpr ClassNames kQwen35Classes[] = {"Qwen3_5ForCausalLM"};
constexpr ClassNames kQwen35MoeClasses[] = {"Qwen3_5MoeForCausalLM"};

constexpr HubType kRecentTypes[] = {
    {"smollm3", "llama", kSmolLm3Classes, kSmolLm3Own, kDecoderKeys},
    {"glm", "llama", kGlmClasses, kGlmOwn, kDecoderKeys},
    {"glm4", "llama", kGlm4Classes, kGlm4Own, kDecoderKeys},
    {"glm4_moe", "llama", kGlm4MoeClasses, kGlm4MoeOwn, kDecoderKeys},
    {"cohere", "llama", kCohereClasses, kCohereOwn, kDecoderKeys},
    {"cohere2", "llama", kCohere2Classes, kCohere2Own, kDecoderKeys},
    {"granitemoe", "llama", kGraniteMoeClasses, kGraniteMoeOwn, kDecoderKeys},
    {"nemotron", "llama", kNemotronClasses, kNemotronOwn, kDecoderKeys},
    {"exaone4", "llama", kExaone4Classes, kExaone4Own, kDecoderKeys},
    {"ernie4_5", "llama", kErnieClasses, kErnieOwn, kDecoderKeys},
    {"hunyuan_v1_dense", "llama", kHunyuanClasses, kHunyuanOwn, kDecoderKeys},
    {"seed_oss", "llama", kSeedOssClasses, kSeedOssOwn, kDecoderKeys},
    {"arcee", "llama", kArceeClasses, kArceeOwn, kDecoderKeys},
    {"olmo", "llama", kOlmoClasses, kOlmoOwn, kDecoderKeys},
    {"olmo2", "llama", kOlmo2Classes, kOlmo2Own, kDecoderKeys},
    {"olmo3", "llama", kOlmo3Classes, kOlmo3Own, kDecoderKeys},
    {"ministral", "llama", kMinistralClasses, kMinistralOwn, kDecoderKeys},
    {"ministral3", "llama", kMinistral3Classes, kMinistral3Own, kDecoderKeys},
    {"gpt_oss", "llama", kGptOssClasses, kGptOssOwn, kDecoderKeys},
    {"llama4_text", "llama", kLlama4Classes, kLlama4Own, kDecoderKeys},
    {"qwen3_next", "llama", kQwen3NextClasses, kQwen3NextOwn, kDecoderKeys},
    {"qwen3_5_text", "llama", kQwen35Classes, kQwen35Own, kDecoderKeys},
    {"qwen3_5_moe_text", "llama", kQwen35MoeClasses, kQwen35MoeOwn,
     kDecoderKeys},
};

}  // namespace

std::span<const HubType> RecentDecoderTypes() { return kRecentTypes; }

}  // namespace foretell::zoo
