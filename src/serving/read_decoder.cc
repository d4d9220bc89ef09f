#include <algorithm>
#include <nlohmann/json.hpp>

#include "foretell/serving.h"
#include "src/core/parse_json.h"
#include "src/serving/decoder_keys.h"

namespace foretell {
namespace {

using Kind = CacheLayers::Kind;
using serving::DecoderKeys;

constexpr std::string_view kHeadKeys =
    "num_attention_heads|n_head|n_heads|num_heads";
constexpr std::string_view kWidthKeys = "hidden_size|n_embd|d_model";

std::int64_t KeyHeads(const DecoderKeys& keys) {
  if (keys.Flag("multi_query", false)) return 1;  // GPTBigCode, Falcon.
  return keys.Number(
      "num_key_value_heads|num_kv_heads|multi_query_group_num|"
      "attn_config.kv_n_heads",
      keys.Required(kHeadKeys));
}

/// Layers with keys and values, or with what DeepSeek's MLA has instead.
CacheLayers AttentionLayers(const DecoderKeys& keys, Kind kind) {
  if (kind == Kind::kFull && keys.Has("kv_lora_rank")) {
    return {.kind = Kind::kLatent,
            .heads = 1,
            .numbers = keys.Required("kv_lora_rank") +
                       keys.Required("qk_rope_head_dim")};
  }
  const std::int64_t head =
      keys.Number("head_dim|kv_channels",
                  keys.Required(kWidthKeys) / keys.Required(kHeadKeys));
  CacheLayers layers{
      .kind = kind, .heads = KeyHeads(keys), .numbers = 2 * head};
  if (kind == Kind::kWindow) layers.window = keys.Required("sliding_window");
  if (kind == Kind::kChunk) {
    layers.window = keys.Required("attention_chunk_size");
  }
  return layers;
}

CacheLayers LayersOf(const DecoderKeys& keys, std::string_view word) {
  if (word == "window") return AttentionLayers(keys, Kind::kWindow);
  if (word == "chunk") return AttentionLayers(keys, Kind::kChunk);
  if (word == "full") return AttentionLayers(keys, Kind::kFull);
  return {.kind = Kind::kState, .state_bytes = serving::StateBytesOf(keys)};
}

void AddLayer(const DecoderKeys& keys, std::string_view word,
              std::vector<CacheLayers>& all) {
  CacheLayers one = LayersOf(keys, word);
  const auto found = std::ranges::find_if(
      all, [&](const CacheLayers& other) { return other.kind == one.kind; });
  if (found != all.end()) {
    ++found->layers;
    return;
  }
  one.layers = 1;
  all.push_back(one);
}

/// The keys of DeepSeek-V3.2's indexer: 8 bits and an FP32 scale per 128
/// (vLLM, DeepseekV32IndexerCache).
void AddIndexer(const DecoderKeys& keys, std::vector<CacheLayers>& all) {
  const std::int64_t width = keys.Number("index_head_dim", 0);
  if (width == 0 || all.empty()) return;
  all.push_back({.kind = Kind::kLatent,
                 .layers = all.front().layers,
                 .heads = 1,
                 .numbers = width,
                 .fixed_token_bytes = width + width / 128 * 4});
}

std::int64_t InnerNumbers(const DecoderKeys& keys, std::int64_t width) {
  const std::int64_t dense =
      keys.Number("intermediate_size|n_inner|ffn_hidden_size", 4 * width);
  const std::int64_t experts = keys.Number("num_experts_per_tok|moe_topk", 0) *
                               keys.Number("moe_intermediate_size", dense);
  return std::max(dense, experts);
}

}  // namespace

Decoder ReadDecoder(std::string_view config_json, std::string_view origin) {
  const nlohmann::json config = ParseJson(config_json, origin);
  const DecoderKeys keys(config, origin);
  if (keys.Flag("is_encoder_decoder", false)) {
    keys.Refuse("is_encoder_decoder is true, expected a decoder");
  }
  Decoder decoder{.model_type = keys.model_type()};
  decoder.width = keys.Required(kWidthKeys);
  decoder.inner = InnerNumbers(keys, decoder.width);
  decoder.vocabulary = keys.Required("vocab_size|padded_vocab_size");
  decoder.tied_head = keys.Flag("tie_word_embeddings", false);
  decoder.positions = keys.Number(
      "max_position_embeddings|n_positions|max_seq_len|seq_length", 0);
  for (const std::string& word : serving::LayerWords(keys)) {
    if (word == "both") AddLayer(keys, "full", decoder.layers);
    if (word == "both") AddLayer(keys, "state", decoder.layers);
    if (word != "both" && word != "none") AddLayer(keys, word, decoder.layers);
  }
  if (decoder.layers.empty()) keys.Refuse("none of its layers has a cache");
  AddIndexer(keys, decoder.layers);
  return decoder;
}

}  // namespace foretell
