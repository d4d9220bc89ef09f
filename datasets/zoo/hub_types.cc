// Keys that change neither shapes nor operators (epsilons, token numbers, rope
// scaling, initialisation) are in no table. A row whose field the family does
// not have yet accepts `only`, and sets the field as soon as there is one.

#include "datasets/zoo/hub_types.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>

#include "src/core/parse_number.h"

namespace foretell::zoo {
namespace {

using Classes = std::string_view;

std::int64_t WholeOr0(const std::string& text) {
  return ParseNumber<std::int64_t>(text).value_or(0);
}

/// 0 for the width that follows from the other sizes.
std::string HeadWidth(const std::string& text, const HubValue& other) {
  const std::int64_t heads = WholeOr0(other("num_attention_heads"));
  const std::int64_t width = WholeOr0(other("hidden_size"));
  const bool follows =
      heads > 0 && width % heads == 0 && WholeOr0(text) == width / heads;
  return follows ? "0" : text;
}

/// 0 for four times the width.
std::string Gpt2Inner(const std::string& text, const HubValue& other) {
  return WholeOr0(text) == 4 * WholeOr0(other("n_embd|hidden_size")) ? "0"
                                                                     : text;
}

std::string Gpt2Head(const std::string& text, const HubValue& /*other*/) {
  return text == "GPT2LMHeadModel" ? "true" : "false";
}

/// The quotient by the width; a fraction, which the field refuses, if there is
/// a rest.
std::string WidthRatio(const std::string& text, const HubValue& other) {
  const std::int64_t width = WholeOr0(other("hidden_size"));
  const std::int64_t inner = WholeOr0(text);
  if (width <= 0 || inner % width != 0) {
    return fmt::format("{}/{}", text, width);
  }
  return fmt::format("{}", inner / width);
}

// Decoders, with the defaults of LlamaConfig.
constexpr HubKey kDecoderKeys[] = {
    {"hidden_size", "width", "4096"},
    {"num_hidden_layers", "depth", "32"},
    {"num_attention_heads", "heads", "32"},
    {"num_key_value_heads", "kv_heads", "=num_attention_heads"},
    {"head_dim", "head_width", "0", "0", "", &HeadWidth},
    {"intermediate_size", "inner", "11008"},
    {"vocab_size", "vocabulary", "32000"},
    {"max_position_embeddings", "positions", "2048"},
    {"rope_parameters.rope_theta|rope_theta", "rotary_base", "10000"},
    {"partial_rotary_factor", "rotary_share", "1", "1"},
    {"hidden_act", "activation", "silu", "silu"},
    {"tie_word_embeddings", "tied_head", "false"},
    {"attention_dropout", "", "0", "0", "", nullptr, true},
};
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
    {"feed_forward_proj", "", "relu", "relu"},
    {"relative_attention_num_buckets", "", "32", "32"},
    {"relative_attention_max_distance", "", "128", "128"},
};

constexpr Classes kLlamaClasses[] = {"LlamaForCausalLM"};
constexpr Classes kMistralClasses[] = {"MistralForCausalLM"};
constexpr Classes kQwen2Classes[] = {"Qwen2ForCausalLM"};
constexpr Classes kQwen3Classes[] = {"Qwen3ForCausalLM"};
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

std::span<const HubType> HubTypes() { return kHubTypes; }

}  // namespace foretell::zoo
