// The decoders of Qwen's vision-language models: those of texts with defaults
// of their own. Positions of images are counted by operators that a text does
// without. Keys and defaults are those of configuration_*.py in transformers
// 4.57.6.

#include "datasets/zoo/hub_decoder_keys.h"
#include "datasets/zoo/hub_types.h"
#include "datasets/zoo/hub_values.h"

namespace foretell::zoo {
namespace {

using VisionClasses = std::string_view;

constexpr HubKey kQwen2VlOwn[] = {
    {"hidden_size", "width", "8192"},
    {"num_hidden_layers", "depth", "80"},
    {"num_attention_heads", "heads", "64"},
    {"num_key_value_heads", "kv_heads", "8", "", "=num_attention_heads"},
    {"intermediate_size", "inner", "29568"},
    {"vocab_size", "vocabulary", "152064"},
    {"max_position_embeddings", "positions", "32768"},
    {"", "qkv_bias", "true"},
    {"use_sliding_window", "", "false", "false", "", nullptr, true},
};
constexpr HubKey kQwen3VlOwn[] = {
    {"intermediate_size", "inner", "22016"},
    {"num_key_value_heads", "kv_heads", "32", "", "=num_attention_heads"},
    {"head_dim", "head_width", "128", "", "0", &HeadWidth},
    {"vocab_size", "vocabulary", "151936"},
    {"max_position_embeddings", "positions", "128000"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"", "head_norms", "true"},
};
constexpr HubKey kQwen3VlMoeOwn[] = {
    {"hidden_size", "width", "2048"},
    {"num_hidden_layers", "depth", "24"},
    {"num_attention_heads", "heads", "16"},
    {"num_key_value_heads", "kv_heads", "16", "", "=num_attention_heads"},
    {"head_dim", "head_width", "128", "", "0", &HeadWidth},
    {"intermediate_size", "inner", "5632"},
    {"vocab_size", "vocabulary", "151936"},
    {"max_position_embeddings", "positions", "128000"},
    {"num_experts|num_local_experts", "experts", "60"},
    {"num_experts_per_tok", "experts_per_token", "4"},
    {"moe_intermediate_size", "expert_inner", "1408"},
    {"decoder_sparse_step", "expert_pattern", "1"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false"},
    {"", "head_norms", "true"},
};

constexpr VisionClasses kQwen2VlClasses[] = {"Qwen2ForCausalLM"};
constexpr VisionClasses kQwen3VlClasses[] = {"Qwen3ForCausalLM"};
constexpr VisionClasses kQwen3VlMoeClasses[] = {"Qwen3MoeForCausalLM"};

constexpr HubType kVisionTypes[] = {
    {"qwen2_vl_text", "llama", kQwen2VlClasses, kQwen2VlOwn, kDecoderKeys},
    {"qwen2_5_vl_text", "llama", kQwen2VlClasses, kQwen2VlOwn, kDecoderKeys},
    {"qwen3_vl_text", "llama", kQwen3VlClasses, kQwen3VlOwn, kDecoderKeys},
    {"qwen3_vl_moe_text", "llama", kQwen3VlMoeClasses, kQwen3VlMoeOwn,
     kDecoderKeys},
};

}  // namespace

std::span<const HubType> VisionDecoderTypes() { return kVisionTypes; }

}  // namespace foretell::zoo
