#include "src/serving/decoder_keys.h"

#include <fmt/core.h>

#include <algorithm>

#include "foretell/error.h"
#include "src/core/parse_json.h"

namespace foretell::serving {
namespace {

constexpr std::int64_t kMostOfKey = std::int64_t{1} << 40;

struct TypeDefaults {
  std::string_view model_type;
  std::string_view keys;  ///< JSON.
};

// Of the classes' defaults, those that published files leave out and caches
// depend on: transformers 5.24, models/*/configuration_*.py.
constexpr TypeDefaults kTypeDefaults[] = {
    {"cohere2", R"({"sliding_window": 4096, "sliding_window_pattern": 4,
                    "tie_word_embeddings": true})"},
    {"exaone4", R"({"sliding_window": 4096, "sliding_window_pattern": 4})"},
    {"falcon_mamba", R"({"expand": 2, "conv_kernel": 4, "state_size": 16,
                         "tie_word_embeddings": true})"},
    {"gemma3_text",
     R"({"hidden_size": 2304, "intermediate_size": 9216,
         "num_hidden_layers": 26, "num_attention_heads": 8,
         "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208,
         "sliding_window": 4096, "sliding_window_pattern": 6,
         "max_position_embeddings": 131072, "tie_word_embeddings": true})"},
    {"gpt_oss", R"({"sliding_window": 128, "sliding_window_pattern": 2,
                    "head_dim": 64})"},
    {"jamba", R"({"attn_layer_period": 8, "attn_layer_offset": 4,
                  "mamba_d_state": 16, "mamba_d_conv": 4,
                  "mamba_expand": 2})"},
    {"llama4_text", R"({"head_dim": 128, "attention_chunk_size": 8192,
                        "no_rope_layer_interval": 4})"},
    {"mamba", R"({"expand": 2, "conv_kernel": 4, "state_size": 16,
                  "tie_word_embeddings": true})"},
    {"mamba2", R"({"expand": 2, "conv_kernel": 4, "state_size": 128,
                   "head_dim": 64, "num_heads": 128, "n_groups": 8})"},
    {"ministral", R"({"sliding_window": 4096})"},
    {"olmo3", R"({"sliding_window": 4096, "sliding_window_pattern": 4})"},
    {"qwen3_5_moe_text",
     R"({"full_attention_interval": 4, "head_dim": 256,
         "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
         "linear_value_head_dim": 128, "linear_num_key_heads": 16,
         "linear_num_value_heads": 32})"},
    {"qwen3_5_text",
     R"({"full_attention_interval": 4, "head_dim": 256,
         "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
         "linear_value_head_dim": 128, "linear_num_key_heads": 16,
         "linear_num_value_heads": 32})"},
    {"qwen3_next",
     R"({"full_attention_interval": 4, "head_dim": 256,
         "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
         "linear_value_head_dim": 128, "linear_num_key_heads": 16,
         "linear_num_value_heads": 32})"},
};

/// The keys of `type`'s class, and over them those that are not null.
nlohmann::json WithDefaults(const nlohmann::json& config,
                            const std::string& type) {
  nlohmann::json all = nlohmann::json::object();
  const auto* row =
      std::ranges::find(kTypeDefaults, type, &TypeDefaults::model_type);
  if (row != std::end(kTypeDefaults)) all = nlohmann::json::parse(row->keys);
  for (const auto& [key, value] : config.items()) all[key] = value;
  return all;
}

}  // namespace

DecoderKeys::DecoderKeys(const nlohmann::json& config, std::string_view origin)
    : origin_(origin) {
  const auto text =
      config.is_object() ? config.find("text_config") : config.end();
  const nlohmann::json& own =
      config.is_object() && text != config.end() ? *text : config;
  if (!own.is_object()) {
    throw Error(ErrorCode::kCorrupt,
                origin_ + ": is no object, expected a config.json");
  }
  const auto type = own.find("model_type");
  if (type != own.end() && type->is_string()) {
    model_type_ = type->get<std::string>();
  }
  config_ = WithDefaults(own, model_type_);
}

const nlohmann::json* DecoderKeys::Find(std::string_view keys) const {
  while (!keys.empty()) {
    const std::string_view key = keys.substr(0, keys.find('|'));
    keys.remove_prefix(std::min(key.size() + 1, keys.size()));
    const std::size_t dot = key.find('.');
    const auto found = config_.find(std::string(key.substr(0, dot)));
    if (found == config_.end() || found->is_null()) continue;
    if (dot == std::string_view::npos) return &*found;
    if (!found->is_object()) continue;
    const auto inner = found->find(std::string(key.substr(dot + 1)));
    if (inner != found->end() && !inner->is_null()) return &*inner;
  }
  return nullptr;
}

void DecoderKeys::Fail(std::string_view keys, const nlohmann::json* value,
                       std::string_view expected) const {
  throw Error(
      ErrorCode::kCorrupt,
      fmt::format("{}: {} is {}, expected {}", origin_,
                  keys.substr(0, keys.find('|')),
                  value == nullptr ? "missing" : ShowJson(*value), expected));
}

std::int64_t DecoderKeys::Number(std::string_view keys,
                                 std::int64_t absent) const {
  const nlohmann::json* value = Find(keys);
  if (value == nullptr || value->is_string()) return absent;
  if (value->is_number_integer()) {
    const auto number = value->get<std::int64_t>();
    if (number >= 0 && number <= kMostOfKey) return number;
  }
  Fail(keys, value, "a whole number of 0 to 2^40");
}

std::int64_t DecoderKeys::Required(std::string_view keys) const {
  const std::int64_t number = Number(keys, 0);
  if (number == 0) Fail(keys, Find(keys), "a whole number above 0");
  return number;
}

bool DecoderKeys::Flag(std::string_view keys, bool absent) const {
  const nlohmann::json* value = Find(keys);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) Fail(keys, value, "true or false");
  return value->get<bool>();
}

std::vector<std::string> DecoderKeys::Texts(std::string_view keys) const {
  std::vector<std::string> texts;
  const nlohmann::json* value = Find(keys);
  if (value == nullptr) return texts;
  if (!value->is_array()) Fail(keys, value, "a list");
  for (const nlohmann::json& one : *value) {
    if (!one.is_string()) Fail(keys, &one, "a text");
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

std::vector<std::int64_t> DecoderKeys::Numbers(std::string_view keys) const {
  std::vector<std::int64_t> numbers;
  const nlohmann::json* value = Find(keys);
  if (value == nullptr) return numbers;
  if (!value->is_array()) Fail(keys, value, "a list");
  for (const nlohmann::json& one : *value) {
    if (!one.is_number_integer()) Fail(keys, &one, "a whole number");
    numbers.push_back(one.get<std::int64_t>());
  }
  return numbers;
}

void DecoderKeys::Refuse(const std::string& problem) const {
  throw Error(ErrorCode::kUnsupported, origin_ + ": " + problem);
}

}  // namespace foretell::serving
