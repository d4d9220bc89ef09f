// The config.json of a decoder by its name, for what is computed from it alone.

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "datasets/zoo/hub_config.h"
#include "datasets/zoo/selection.h"
#include "foretell/error.h"
#include "foretell/zoo.h"

namespace foretell::zoo {
namespace {

struct DecoderKey {
  std::string_view key;    ///< Of config.json.
  std::string_view field;  ///< Of the family.
};

constexpr DecoderKey kLlamaDecoderKeys[] = {
    {"hidden_size", "width"},
    {"num_hidden_layers", "depth"},
    {"num_attention_heads", "heads"},
    {"num_key_value_heads", "kv_heads"},
    {"head_dim", "head_width"},
    {"intermediate_size", "inner"},
    {"vocab_size", "vocabulary"},
    {"max_position_embeddings", "positions"},
    {"tie_word_embeddings", "tied_head"},
    {"sliding_window", "window"},
    {"sliding_window_pattern", "window_pattern"},
    {"full_attention_interval", "linear_pattern"},
    {"linear_num_key_heads", "linear_key_heads"},
    {"linear_num_value_heads", "linear_value_heads"},
    {"linear_key_head_dim", "linear_key_width"},
    {"linear_value_head_dim", "linear_value_width"},
    {"linear_conv_kernel_dim", "linear_kernel"},
};
constexpr DecoderKey kGptDecoderKeys[] = {
    {"hidden_size", "width"},
    {"num_hidden_layers", "depth"},
    {"num_attention_heads", "heads"},
    {"vocab_size", "vocabulary"},
    {"max_position_embeddings", "positions"},
};

/// A number of experts' inner numbers counts once per expert that a token uses.
void AddExperts(const nlohmann::json& fields, nlohmann::json& config) {
  if (fields.value("experts", 0) == 0) return;
  config["num_experts_per_tok"] = fields["experts_per_token"];
  if (fields["expert_inner"] != 0) {
    config["moe_intermediate_size"] = fields["expert_inner"];
  }
}

std::string ConfigOfFamily(std::string_view name) {
  const Description description = Describe(name);
  const auto fields = nlohmann::json::parse(description.json);
  nlohmann::json config = {{"model_type", description.family}};
  const auto take = [&](const auto& keys) {
    for (const DecoderKey& one : keys) {
      const nlohmann::json& value = fields.at(std::string(one.field));
      if (value != 0) config[std::string(one.key)] = value;
    }
  };
  if (description.family == "llama") {
    take(kLlamaDecoderKeys);
    AddExperts(fields, config);
  } else if (description.family == "gpt") {
    take(kGptDecoderKeys);
    config["tie_word_embeddings"] = true;
  } else {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: a network of the family '{}' has no cache of "
                            "keys and values, expected a decoder",
                            name, description.family));
  }
  return config.dump();
}

}  // namespace

std::string DecoderConfig(std::string_view name) {
  if (IsNetwork(name)) return ConfigOfFamily(name);
  const std::optional<std::string> text = ReadHubText(std::string(name));
  if (text) return *text;
  return ConfigOfFamily(name);  // Throws with the nearest names.
}

}  // namespace foretell::zoo
