// Keys that change neither shapes nor operators (epsilons, token numbers, rope
// scaling, initialisation) are in no table. A row whose field the family does
// not have yet accepts `only`, and sets the field as soon as there is one.

#include "datasets/zoo/hub_types.h"

#include <vector>

#include "datasets/zoo/hub_decoder_keys.h"
#include "datasets/zoo/hub_values.h"

namespace foretell::zoo {
namespace {

using Classes = std::string_view;

constexpr HubKey kLlamaOwn[] = {
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false", "false"},
    {"mlp_bias", "mlp_bias", "false", "false"},
};
constexpr HubKey kMistralOwn[] = {
    {"intermediate_size", "inner", "14336"},
    {"num_key_value_heads", "kv_heads", "8", "", "=num_attention_heads"},
    {"max_position_embeddings", "positions", "131072"},
    // Matters to sequences that are longer than it.
    {"sliding_window", "window", "4096", "0", "0", nullptr, true},
};
constexpr HubKey kQwen2Own[] = {
    {"intermediate_size", "inner", "22016"},
    {"num_key_value_heads", "kv_heads", "32", "", "=num_attention_heads"},
    {"vocab_size", "vocabulary", "151936"},
    {"max_position_embeddings", "positions", "32768"},
    {"", "qkv_bias", "true"},
    {"use_sliding_window", "", "false", "false", "", nullptr, true},
};
constexpr HubKey kQwen3Own[] = {
    {"intermediate_size", "inner", "22016"},
    {"num_key_value_heads", "kv_heads", "32", "", "=num_attention_heads"},
    {"head_dim", "head_width", "128", "0", "0", &HeadWidth},
    {"vocab_size", "vocabulary", "151936"},
    {"max_position_embeddings", "positions", "32768"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false", "false"},
    {"", "head_norms", "true"},
    {"use_sliding_window", "", "false", "false", "", nullptr, true},
};

constexpr HubKey kPhi3Own[] = {
    {"hidden_size", "width", "3072"},
    {"intermediate_size", "inner", "8192"},
    {"vocab_size", "vocabulary", "32064"},
    {"max_position_embeddings", "positions", "4096"},
    {"sliding_window", "window", "0", "0", "0", nullptr, true},
    {"resid_pdrop", "dropout", "0", "0", "", nullptr, true},
    {"", "fused_qkv", "true", "false"},
    {"", "fused_gate_up", "true", "false"},
};
constexpr HubKey kMixtralOwn[] = {
    {"intermediate_size", "inner", "14336"},
    {"num_key_value_heads", "kv_heads", "8", "", "=num_attention_heads"},
    {"max_position_embeddings", "positions", "131072"},
    {"rope_parameters.rope_theta|rope_theta", "rotary_base", "1000000", "", "",
     &RotaryBase},
    {"sliding_window", "window", "0", "0", "0", nullptr, true},
    {"num_local_experts", "experts", "8", "0"},
    {"num_experts_per_tok", "experts_per_token", "2"},
};
constexpr HubKey kGraniteOwn[] = {
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false", "false"},
    {"mlp_bias", "mlp_bias", "false", "false"},
    {"embedding_multiplier", "embedding_scale", "1", "1"},
    {"residual_multiplier", "residual_scale", "1", "1"},
    {"logits_scaling", "logits_scale", "1", "1"},
};
constexpr HubKey kGemmaOwn[] = {
    {"hidden_size", "width", "3072"},
    {"hidden_size", "embedding_scale", "3072", "1", "", &SquareRoot},
    {"num_hidden_layers", "depth", "28"},
    {"num_attention_heads", "heads", "16"},
    {"num_key_value_heads", "kv_heads", "16"},
    {"head_dim", "head_width", "256", "0", "", &HeadWidth},
    {"intermediate_size", "inner", "24576"},
    {"vocab_size", "vocabulary", "256000"},
    {"max_position_embeddings", "positions", "8192"},
    {"hidden_act", "activation", "gelu_pytorch_tanh", "silu", "", &Activation},
    {"tie_word_embeddings", "tied_head", "true"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false", "false"},
    {"", "norm", "gemma", "rms"},
};
constexpr HubKey kGemma2Own[] = {
    {"hidden_size", "width", "2304"},
    {"hidden_size", "embedding_scale", "2304", "1", "", &SquareRoot},
    {"num_hidden_layers", "depth", "26"},
    {"num_attention_heads", "heads", "8"},
    {"num_key_value_heads", "kv_heads", "4"},
    {"head_dim", "head_width", "256", "0", "", &HeadWidth},
    {"intermediate_size", "inner", "9216"},
    {"vocab_size", "vocabulary", "256000"},
    {"max_position_embeddings", "positions", "8192"},
    {"hidden_activation", "activation", "gelu_pytorch_tanh", "silu", "",
     &Activation},
    {"tie_word_embeddings", "tied_head", "true"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false", "false"},
    {"", "norm", "gemma", "rms"},
    {"", "post_norms", "true", "false"},
    {"sliding_window", "window", "4096", "0", "0"},
    {"", "window_pattern", "2", "0"},
    {"attn_logit_softcapping", "attention_softcap", "50", "0", "0"},
    {"final_logit_softcapping", "logit_softcap", "30", "0", "0"},
};
constexpr HubKey kGemma3Own[] = {
    {"hidden_size", "width", "2304"},
    {"hidden_size", "embedding_scale", "2304", "1", "", &SquareRoot},
    {"num_hidden_layers", "depth", "26"},
    {"num_attention_heads", "heads", "8"},
    {"num_key_value_heads", "kv_heads", "4"},
    {"head_dim", "head_width", "256", "0", "", &HeadWidth},
    {"intermediate_size", "inner", "9216"},
    {"vocab_size", "vocabulary", "262208"},
    {"max_position_embeddings", "positions", "131072"},
    {"hidden_activation", "activation", "gelu_pytorch_tanh", "silu", "",
     &Activation},
    {"tie_word_embeddings", "tied_head", "true"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false", "false"},
    {"", "norm", "gemma", "rms"},
    {"", "post_norms", "true", "false"},
    {"", "head_norms", "true"},
    {"sliding_window", "window", "4096", "0", "0"},
    {"layer_types|sliding_window_pattern|_sliding_window_pattern",
     "window_pattern", "6", "0", "6", &WindowPattern},
    {"attn_logit_softcapping", "attention_softcap", "0", "0", "0"},
    {"final_logit_softcapping", "logit_softcap", "0", "0", "0"},
    {"", "window_rotary", "true"},
};
constexpr HubKey kPhiOwn[] = {
    {"hidden_size", "width", "2048"},
    {"num_hidden_layers", "depth", "24"},
    {"intermediate_size", "inner", "8192"},
    {"vocab_size", "vocabulary", "51200"},
    {"hidden_act", "activation", "gelu_new", "silu"},
    {"rope_parameters.partial_rotary_factor|partial_rotary_factor",
     "rotary_share", "0.5", "1"},
    {"resid_pdrop", "dropout", "0", "0", "", nullptr, true},
    {"qk_layernorm", "", "false", "false"},
    {"", "layer_names", "phi"},
    {"", "norm", "layer", "rms"},
    {"", "parallel_blocks", "true", "false"},
    {"", "qkv_bias", "true"},
    {"", "out_bias", "true", "false"},
    {"", "mlp_gate", "false", "true"},
    {"", "mlp_bias", "true", "false"},
    {"", "head_bias", "true", "false"},
};
constexpr HubKey kStableLmOwn[] = {
    {"hidden_size", "width", "2560"},
    {"intermediate_size", "inner", "6912"},
    {"vocab_size", "vocabulary", "50304"},
    {"max_position_embeddings", "positions", "4096"},
    {"rope_parameters.partial_rotary_factor|partial_rotary_factor",
     "rotary_share", "0.25", "1"},
    {"use_qkv_bias", "qkv_bias", "false"},
    {"use_parallel_residual", "parallel_blocks", "false", "false"},
    {"qk_layernorm", "", "false", "false"},
    {"hidden_dropout", "dropout", "0", "0", "", nullptr, true},
    {"", "norm", "layer", "rms"},
};
constexpr HubKey kStarCoder2Own[] = {
    {"hidden_size", "width", "3072"},
    {"num_hidden_layers", "depth", "30"},
    {"num_attention_heads", "heads", "24"},
    {"num_key_value_heads", "kv_heads", "2", "", "=num_attention_heads"},
    {"intermediate_size", "inner", "12288"},
    {"vocab_size", "vocabulary", "49152"},
    {"max_position_embeddings", "positions", "4096"},
    {"hidden_act", "activation", "gelu_pytorch_tanh", "silu", "", &Activation},
    {"tie_word_embeddings", "tied_head", "true"},
    {"sliding_window", "window", "0", "0", "0", nullptr, true},
    {"residual_dropout", "dropout", "0", "0", "", nullptr, true},
    {"use_bias", "qkv_bias", "true"},
    {"use_bias", "out_bias", "true", "false"},
    {"use_bias", "mlp_bias", "true", "false"},
    {"", "layer_names", "starcoder2"},
    {"", "norm", "layer", "rms"},
    {"", "mlp_gate", "false", "true"},
};
constexpr HubKey kQwen2MoeOwn[] = {
    {"hidden_size", "width", "2048"},
    {"num_hidden_layers", "depth", "24"},
    {"num_attention_heads", "heads", "16"},
    {"num_key_value_heads", "kv_heads", "16"},
    {"intermediate_size", "inner", "5632"},
    {"vocab_size", "vocabulary", "151936"},
    {"max_position_embeddings", "positions", "32768"},
    {"num_experts|num_local_experts", "experts", "60", "0"},
    {"num_experts_per_tok", "experts_per_token", "4"},
    {"moe_intermediate_size", "expert_inner", "1408"},
    {"shared_expert_intermediate_size", "shared_inner", "5632"},
    {"norm_topk_prob", "norm_topk", "false"},
    {"decoder_sparse_step", "expert_pattern", "1"},
    {"qkv_bias", "qkv_bias", "true"},
    {"use_sliding_window", "", "false", "false", "", nullptr, true},
};
constexpr HubKey kQwen3MoeOwn[] = {
    {"hidden_size", "width", "2048"},
    {"num_hidden_layers", "depth", "24"},
    {"num_key_value_heads", "kv_heads", "4"},
    {"intermediate_size", "inner", "6144"},
    {"vocab_size", "vocabulary", "151936"},
    {"max_position_embeddings", "positions", "32768"},
    {"num_experts|num_local_experts", "experts", "128", "0"},
    {"num_experts_per_tok", "experts_per_token", "8"},
    {"moe_intermediate_size", "expert_inner", "768"},
    {"norm_topk_prob", "norm_topk", "false"},
    {"decoder_sparse_step", "expert_pattern", "1"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false", "false"},
    {"", "head_norms", "true"},
    {"use_sliding_window", "", "false", "false", "", nullptr, true},
};
constexpr HubKey kOlmoeOwn[] = {
    {"hidden_size", "width", "2048"},
    {"num_hidden_layers", "depth", "16"},
    {"num_attention_heads", "heads", "16"},
    {"num_key_value_heads", "kv_heads", "=num_attention_heads"},
    {"intermediate_size", "inner", "2048"},
    {"vocab_size", "vocabulary", "50304"},
    {"max_position_embeddings", "positions", "4096"},
    {"num_experts|num_local_experts", "experts", "64", "0"},
    {"num_experts_per_tok", "experts_per_token", "8"},
    {"norm_topk_prob", "norm_topk", "false"},
    {"attention_bias", "qkv_bias", "false"},
    {"attention_bias", "out_bias", "false", "false"},
    {"", "width_norms", "true"},
};
constexpr HubKey kGptNeoXOwn[] = {
    {"hidden_size", "width", "6144"},
    {"num_hidden_layers", "depth", "44"},
    {"num_attention_heads", "heads", "64"},
    {"intermediate_size", "inner", "24576"},
    {"vocab_size", "vocabulary", "50432"},
    {"rope_parameters.rope_theta|rotary_emb_base", "rotary_base", "10000", "",
     "", &RotaryBase},
    {"rope_parameters.partial_rotary_factor|rotary_pct", "rotary_share", "0.25",
     "1"},
    {"hidden_act", "activation", "gelu", "silu"},
    {"hidden_dropout", "dropout", "0", "0", "", nullptr, true},
    {"attention_bias", "qkv_bias", "true"},
    {"attention_bias", "out_bias", "true", "false"},
    {"use_parallel_residual", "parallel_blocks", "true", "false"},
    {"", "parallel_norms", "2", "1"},
    {"", "layer_names", "gpt_neox"},
    {"", "norm", "layer", "rms"},
    {"", "fused_qkv", "true", "false"},
    {"", "mlp_gate", "false", "true"},
    {"", "mlp_bias", "true", "false"},
};
// Without the new architecture, which has more kinds of keys and norms.
constexpr HubKey kFalconOwn[] = {
    {"hidden_size", "width", "4544"},
    {"num_attention_heads", "heads", "71"},
    {"ffn_hidden_size", "inner", "0", "", "", &InnerOrFourWidths},
    {"vocab_size", "vocabulary", "65024"},
    {"activation", "activation", "gelu", "silu"},
    {"tie_word_embeddings", "tied_head", "true"},
    {"hidden_dropout", "dropout", "0", "0", "", nullptr, true},
    {"bias", "qkv_bias", "false"},
    {"bias", "out_bias", "false", "false"},
    {"bias", "mlp_bias", "false", "false"},
    {"parallel_attn", "parallel_blocks", "true", "false"},
    {"multi_query", "", "true", "true"},
    {"new_decoder_architecture", "", "false", "false"},
    {"alibi", "", "false", "false"},
    {"", "kv_heads", "1"},
    {"", "layer_names", "gpt_neox"},
    {"", "norm", "layer", "rms"},
    {"", "fused_qkv", "true", "false"},
    {"", "copied_kv", "true", "false"},
    {"", "mlp_gate", "false", "true"},
};
constexpr HubKey kGptBigCodeKeys[] = {
    {"n_embd|hidden_size", "width", "768"},
    {"n_layer|num_hidden_layers", "depth", "12"},
    {"n_head|num_attention_heads", "heads", "12"},
    {"n_inner", "inner", "0", "", "", &InnerOrFourWidths},
    {"vocab_size", "vocabulary", "50257"},
    {"n_positions|max_position_embeddings", "positions", "1024"},
    {"activation_function", "activation", "gelu_pytorch_tanh", "silu", "",
     &Activation},
    {"resid_pdrop", "dropout", "0.1", "0"},
    {"embd_pdrop", "", "0.1", "=resid_pdrop", "", nullptr, true},
    {"attn_pdrop", "attention_dropout", "0.1", "0"},
    {"tie_word_embeddings", "tied_head", "true"},
    {"multi_query", "", "true", "true"},
    {"", "kv_heads", "1"},
    {"", "positions_learned", "true", "false"},
    {"", "layer_names", "gpt_bigcode"},
    {"", "norm", "layer", "rms"},
    {"", "fused_qkv", "true", "false"},
    {"", "qkv_bias", "true"},
    {"", "out_bias", "true", "false"},
    {"", "mlp_gate", "false", "true"},
    {"", "mlp_bias", "true", "false"},
};

constexpr HubKey kGpt2Keys[] = {
    {"n_embd|hidden_size", "width", "768"},
    {"n_layer|num_hidden_layers", "depth", "12"},
    {"n_head|num_attention_heads", "heads", "12"},
    {"vocab_size", "vocabulary", "50257"},
    {"n_positions|max_position_embeddings", "positions", "1024"},
    {"n_inner", "", "0", "0", "", &Gpt2Inner},
    {"resid_pdrop", "dropout", "0.1"},
    {"embd_pdrop", "", "0.1", "=resid_pdrop", "", nullptr, true},
    {"attn_pdrop", "", "0.1", "=resid_pdrop", "", nullptr, true},
    {"activation_function", "", "gelu_new", "gelu_new"},
    {"use_cache", "use_cache", "true"},
    {"architectures", "lm_head", "GPT2LMHeadModel", "", "", &Gpt2Head},
    {"tie_word_embeddings", "", "true", "true"},
    {"scale_attn_by_inverse_layer_idx", "", "false", "false"},
    {"reorder_and_upcast_attn", "", "false", "false"},
    {"add_cross_attention", "", "false", "false"},
};

// Encoders of text and images, with the defaults of BertConfig.
constexpr HubKey kEncoderKeys[] = {
    {"hidden_size", "width", "768"},
    {"num_hidden_layers", "depth", "12"},
    {"num_attention_heads", "heads", "12"},
    {"intermediate_size", "inner", "3072"},
    {"vocab_size", "vocabulary", "30522"},
    {"max_position_embeddings", "positions", "512"},
    {"hidden_act", "", "gelu", "gelu"},
    {"hidden_dropout_prob", "dropout", "0.1"},
    {"attention_probs_dropout_prob", "", "0.1", "=hidden_dropout_prob", "",
     nullptr, true},
    {"position_embedding_type", "", "absolute", "absolute"},
    {"is_decoder", "", "false", "false"},
};
constexpr HubKey kBertOwn[] = {{"type_vocab_size", "segments", "2", "2"}};
constexpr HubKey kRobertaOwn[] = {
    {"type_vocab_size", "segments", "2", "2"},
    {"vocab_size", "vocabulary", "50265"},
};
constexpr HubKey kXlmRobertaOwn[] = {
    {"type_vocab_size", "segments", "2", "2"},
};
constexpr HubKey kDebertaOwn[] = {
    {"hidden_size", "width", "1536"},
    {"num_hidden_layers", "depth", "24"},
    {"num_attention_heads", "heads", "24"},
    {"intermediate_size", "inner", "6144"},
    {"vocab_size", "vocabulary", "128100"},
    {"position_buckets", "buckets", "0"},
    {"type_vocab_size", "", "0", "0"},
    {"relative_attention", "", "false", "true"},
    {"position_biased_input", "", "true", "false"},
    {"share_att_key", "", "false", "true"},
    {"norm_rel_ebd", "", "none", "layer_norm"},
    {"pos_att_type", "", "none", "p2c|c2p"},
    {"attention_head_size", "", "0", "0", "", &HeadWidth},
    {"embedding_size", "", "=hidden_size", "=hidden_size"},
    {"conv_kernel_size", "", "0", "0"},
};
constexpr HubKey kVitKeys[] = {
    {"hidden_size", "width", "768"},
    {"num_hidden_layers", "depth", "12"},
    {"num_attention_heads", "heads", "12"},
    {"intermediate_size", "mlp_ratio", "3072", "", "", &WidthRatio},
    {"image_size", "image_size", "224"},
    {"patch_size", "patch_size", "16"},
    {"num_channels", "channels", "3"},
    {"id2label", "classes", "2"},
    {"hidden_act", "", "gelu", "gelu"},
    {"qkv_bias", "", "true", "true"},
    {"hidden_dropout_prob", "", "0", "0", "", nullptr, true},
    {"attention_probs_dropout_prob", "", "0", "0", "", nullptr, true},
};
constexpr HubKey kT5Keys[] = {
    {"d_model", "width", "512"},
    {"num_layers", "depth", "6"},
    {"num_heads", "heads", "8"},
    {"d_kv", "head_width", "64"},
    {"d_ff", "inner", "2048"},
    {"vocab_size", "vocabulary", "32128"},
    {"dropout_rate", "dropout", "0.1"},
    {"feed_forward_proj", "feed_forward", "relu", "relu"},
    {"relative_attention_num_buckets", "", "32", "32"},
    {"relative_attention_max_distance", "", "128", "128"},
};

constexpr Classes kLlamaClasses[] = {"LlamaForCausalLM"};
constexpr Classes kMistralClasses[] = {"MistralForCausalLM"};
constexpr Classes kQwen2Classes[] = {"Qwen2ForCausalLM"};
constexpr Classes kQwen3Classes[] = {"Qwen3ForCausalLM"};
constexpr Classes kPhi3Classes[] = {"Phi3ForCausalLM"};
constexpr Classes kGemmaClasses[] = {"GemmaForCausalLM"};
constexpr Classes kGemma2Classes[] = {"Gemma2ForCausalLM"};
constexpr Classes kMixtralClasses[] = {"MixtralForCausalLM"};
constexpr Classes kGraniteClasses[] = {"GraniteForCausalLM"};
constexpr Classes kGemma3Classes[] = {"Gemma3ForCausalLM"};
constexpr Classes kPhiClasses[] = {"PhiForCausalLM"};
constexpr Classes kStableLmClasses[] = {"StableLmForCausalLM"};
constexpr Classes kStarCoder2Classes[] = {"Starcoder2ForCausalLM"};
constexpr Classes kQwen2MoeClasses[] = {"Qwen2MoeForCausalLM"};
constexpr Classes kQwen3MoeClasses[] = {"Qwen3MoeForCausalLM"};
constexpr Classes kOlmoeClasses[] = {"OlmoeForCausalLM"};
constexpr Classes kGptNeoXClasses[] = {"GPTNeoXForCausalLM"};
constexpr Classes kFalconClasses[] = {"FalconForCausalLM"};
constexpr Classes kGptBigCodeClasses[] = {"GPTBigCodeForCausalLM"};
constexpr Classes kGpt2Classes[] = {"GPT2LMHeadModel", "GPT2Model"};
constexpr Classes kBertClasses[] = {"BertModel"};
constexpr Classes kRobertaClasses[] = {"RobertaModel"};
constexpr Classes kXlmRobertaClasses[] = {"XLMRobertaModel"};
constexpr Classes kDebertaClasses[] = {"DebertaV2Model"};
constexpr Classes kVitClasses[] = {"ViTForImageClassification"};
constexpr Classes kT5Classes[] = {"T5EncoderModel"};

constexpr HubType kHubTypes[] = {
    {"llama", "llama", kLlamaClasses, kLlamaOwn, kDecoderKeys},
    {"mistral", "llama", kMistralClasses, kMistralOwn, kDecoderKeys},
    {"qwen2", "llama", kQwen2Classes, kQwen2Own, kDecoderKeys},
    {"qwen3", "llama", kQwen3Classes, kQwen3Own, kDecoderKeys},
    {"phi3", "llama", kPhi3Classes, kPhi3Own, kDecoderKeys},
    {"gemma", "llama", kGemmaClasses, kGemmaOwn, kDecoderKeys},
    {"gemma2", "llama", kGemma2Classes, kGemma2Own, kDecoderKeys},
    {"gemma3_text", "llama", kGemma3Classes, kGemma3Own, kDecoderKeys},
    {"phi", "llama", kPhiClasses, kPhiOwn, kDecoderKeys},
    {"stablelm", "llama", kStableLmClasses, kStableLmOwn, kDecoderKeys},
    {"starcoder2", "llama", kStarCoder2Classes, kStarCoder2Own, kDecoderKeys},
    {"mixtral", "llama", kMixtralClasses, kMixtralOwn, kDecoderKeys},
    {"qwen2_moe", "llama", kQwen2MoeClasses, kQwen2MoeOwn, kDecoderKeys},
    {"qwen3_moe", "llama", kQwen3MoeClasses, kQwen3MoeOwn, kDecoderKeys},
    {"olmoe", "llama", kOlmoeClasses, kOlmoeOwn, kDecoderKeys},
    {"granite", "llama", kGraniteClasses, kGraniteOwn, kDecoderKeys},
    {"gpt_neox", "llama", kGptNeoXClasses, kGptNeoXOwn, kDecoderKeys},
    {"falcon", "llama", kFalconClasses, kFalconOwn, kDecoderKeys},
    {"gpt_bigcode", "llama", kGptBigCodeClasses, kGptBigCodeKeys, {}},
    {"gpt2", "gpt", kGpt2Classes, kGpt2Keys, {}},
    {"bert", "bert", kBertClasses, kBertOwn, kEncoderKeys},
    // Their positions are counted from the tokens by a few operators on
    // integers, which the family leaves out.
    {"roberta", "bert", kRobertaClasses, kRobertaOwn, kEncoderKeys},
    {"xlm-roberta", "bert", kXlmRobertaClasses, kXlmRobertaOwn, kEncoderKeys},
    {"deberta-v2", "deberta", kDebertaClasses, kDebertaOwn, kEncoderKeys},
    // timm's operators: one product for query, key and value.
    {"vit", "vit", kVitClasses, kVitKeys, {}},
    {"t5", "t5", kT5Classes, kT5Keys, {}, true},
};

}  // namespace

std::span<const HubType> HubTypes() {
  static const std::vector<HubType> kAll = [] {
    std::vector<HubType> all(std::begin(kHubTypes), std::end(kHubTypes));
    for (const auto more : {VisionDecoderTypes(), RecentDecoderTypes()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return kAll;
}

}  // namespace foretell::zoo
