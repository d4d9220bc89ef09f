// Which layer of a decoder keeps what, by any of the ways in which
// transformers' configurations have stated it (5.24,
// models/*/configuration_*.py).

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "src/serving/decoder_keys.h"

namespace foretell::serving {
namespace {

constexpr std::int64_t kMostLayers = 1000;
constexpr std::int64_t kStateNumberBytes = 2;  ///< As the network's weights.
constexpr std::int64_t kFloatBytes = 4;

struct LayerWord {
  std::string_view given;
  std::string_view word;
};

constexpr LayerWord kLayerWords[] = {
    {"full_attention", "full"},
    {"attention", "full"},
    {"global_attention", "full"},
    {"*", "full"},
    {"sliding_attention", "window"},
    {"chunked_attention", "chunk"},
    {"linear_attention", "state"},
    {"mamba", "state"},
    {"mamba2", "state"},
    {"conv", "state"},
    {"M", "state"},
    {"hybrid", "both"},
    {"mlp", "none"},
    {"moe", "none"},
    {"-", "none"},
    {"E", "none"},
};

std::string WordOf(const DecoderKeys& keys, const std::string& given) {
  const auto* row = std::ranges::find(kLayerWords, given, &LayerWord::given);
  if (row == std::end(kLayerWords)) {
    keys.Refuse(fmt::format("layers of kind '{}' are unknown", given));
  }
  return std::string(row->word);
}

/// The words that a list in the file states; empty if there is none.
std::vector<std::string> ListedWords(const DecoderKeys& keys) {
  std::vector<std::string> given = keys.Texts("layer_types|layers_block_type");
  const nlohmann::json* pattern = keys.Find("hybrid_override_pattern");
  if (given.empty() && pattern != nullptr && pattern->is_string()) {
    for (const char letter : pattern->get<std::string>()) {
      given.emplace_back(1, letter);
    }
  }
  std::vector<std::string> words;
  words.reserve(given.size());
  for (const std::string& one : given) words.push_back(WordOf(keys, one));
  return words;
}

std::vector<std::string> AllLayers(std::int64_t depth, const char* word) {
  return {static_cast<std::size_t>(depth), word};
}

/// Which of two words layer i has; the first where `is_first(i)`.
std::vector<std::string> Alternating(
    std::int64_t depth, const std::function<bool(std::int64_t)>& is_first,
    const char* first, const char* second) {
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < depth; ++i) {
    words.emplace_back(is_first(i) ? first : second);
  }
  return words;
}

/// Attention in the layers of a list, states in the others.
std::vector<std::string> ByIndices(const std::vector<std::int64_t>& full,
                                   std::int64_t depth) {
  return Alternating(
      depth, [&](std::int64_t i) { return std::ranges::count(full, i) > 0; },
      "full", "state");
}

std::vector<std::string> HybridWords(const DecoderKeys& keys,
                                     std::int64_t depth) {
  const std::string& type = keys.model_type();
  if (type == "falcon_h1") return AllLayers(depth, "both");
  if (type == "mamba" || type == "mamba2" || type == "falcon_mamba") {
    return AllLayers(depth, "state");
  }
  if (const std::int64_t period = keys.Number("attn_layer_period", 0)) {
    const std::int64_t offset = keys.Number("attn_layer_offset", 0);
    return Alternating(
        depth, [=](std::int64_t i) { return i % period == offset; }, "full",
        "state");
  }
  if (const std::int64_t every = keys.Number("full_attention_interval", 0)) {
    return Alternating(
        depth, [=](std::int64_t i) { return (i + 1) % every == 0; }, "full",
        "state");
  }
  const std::string_view listed = "attn_layer_indices|full_attn_idxs";
  if (keys.Has(listed)) return ByIndices(keys.Numbers(listed), depth);
  return {};
}

/// Attention only: all tokens, a window or a chunk in some or all layers.
std::vector<std::string> AttentionWords(const DecoderKeys& keys,
                                        std::int64_t depth) {
  const bool has_window = keys.Number("sliding_window", 0) > 0 &&
                          keys.Flag("use_sliding_window", true);
  const bool has_chunks = keys.Number("attention_chunk_size", 0) > 0;
  const std::int64_t every = keys.Number(
      has_chunks ? "no_rope_layer_interval" : "sliding_window_pattern", 0);
  if (!has_window && !has_chunks) return AllLayers(depth, "full");
  return Alternating(
      depth, [=](std::int64_t i) { return every > 0 && (i + 1) % every == 0; },
      "full", has_chunks ? "chunk" : "window");
}

/// Mamba 1 and 2; a head's width follows from the others where it is "auto".
std::int64_t MambaBytes(const DecoderKeys& keys, std::int64_t number_bytes) {
  const std::int64_t kernel = keys.Required("mamba_d_conv|conv_kernel");
  const std::int64_t state =
      keys.Required("mamba_d_state|ssm_state_size|state_size");
  const std::int64_t heads =
      keys.Number("mamba_n_heads|mamba_num_heads|num_heads", 0);
  const std::int64_t expanded =
      keys.Number("mamba_expand|expand", 2) * keys.Required("hidden_size");
  if (heads == 0) {
    const std::int64_t inner = keys.model_type() == "jamba"
                                   ? expanded
                                   : keys.Number("intermediate_size", expanded);
    return inner * (kernel - 1) * kStateNumberBytes +
           inner * state * number_bytes;
  }
  const std::int64_t head =
      keys.Number("mamba_d_head|mamba_head_dim|head_dim",
                  keys.Number("mamba_d_ssm", expanded) / heads);
  const std::int64_t groups = keys.Number("mamba_n_groups|n_groups", 1);
  return (heads * head + 2 * groups * state) * (kernel - 1) *
             kStateNumberBytes +
         heads * head * state * number_bytes;
}

/// Gated DeltaNet, as Qwen3-Next has it.
std::int64_t DeltaNetBytes(const DecoderKeys& keys, std::int64_t number_bytes) {
  const std::int64_t heads = keys.Required("linear_num_value_heads");
  const std::int64_t key = keys.Required("linear_key_head_dim");
  const std::int64_t value = keys.Required("linear_value_head_dim");
  const std::int64_t width =
      2 * keys.Required("linear_num_key_heads") * key + heads * value;
  return width * (keys.Required("linear_conv_kernel_dim") - 1) *
             kStateNumberBytes +
         heads * key * value * number_bytes;
}

}  // namespace

std::vector<std::string> LayerWords(const DecoderKeys& keys) {
  const std::int64_t depth =
      keys.Required("num_hidden_layers|n_layer|n_layers|num_layers");
  if (depth > kMostLayers) {
    keys.Refuse(
        fmt::format("{} layers, expected at most {}", depth, kMostLayers));
  }
  std::vector<std::string> words = ListedWords(keys);
  if (words.empty()) words = HybridWords(keys, depth);
  if (words.empty()) words = AttentionWords(keys, depth);
  // The last layers use the keys and values of an earlier one (Gemma 3n).
  const auto shared =
      static_cast<std::size_t>(keys.Number("num_kv_shared_layers", 0));
  words.resize(words.size() - std::min(shared, words.size()));
  return words;
}

std::int64_t StateBytesOf(const DecoderKeys& keys) {
  const nlohmann::json* type =
      keys.Find("mamba_ssm_dtype|mamba_ssm_cache_dtype");
  const bool is_float =
      type != nullptr && type->is_string() && *type == "float32";
  const std::int64_t number_bytes = is_float ? kFloatBytes : kStateNumberBytes;
  if (keys.Has("linear_num_value_heads")) {
    return DeltaNetBytes(keys, number_bytes);
  }
  if (keys.Has("conv_L_cache")) {  // LFM2: the convolution's inputs.
    return keys.Required("hidden_size") * (keys.Required("conv_L_cache") - 1) *
           kStateNumberBytes;
  }
  if (keys.Has("mamba_d_conv|conv_kernel")) {
    return MambaBytes(keys, number_bytes);
  }
  keys.Refuse("no key states the size of the states of its layers");
}

}  // namespace foretell::serving
