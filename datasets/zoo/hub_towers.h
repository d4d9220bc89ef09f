#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace foretell::zoo {

/// A vision-language model: a decoder, and a tower that turns images into what
/// the decoder reads.
struct HubTower {
  std::string_view model_type;
  /// Of the decoder, where its own keys state none.
  std::string_view text_type;
  /// Numbers in the weights of the tower and of what joins it to a decoder of
  /// `text_width`, by the vision_config and the whole config.json. Throws
  /// Error(kCorrupt) that names a key whose value is out of range or has
  /// another type.
  std::int64_t (*count)(const nlohmann::json& config, std::int64_t text_width);
};

/// The row of a model_type; null if it is no vision-language model. Formulas
/// and defaults are those of modeling_*.py and configuration_*.py in
/// transformers 5.17; tests hold the counts to its modules.
const HubTower* FindHubTower(std::string_view model_type);

}  // namespace foretell::zoo
