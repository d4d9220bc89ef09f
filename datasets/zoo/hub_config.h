#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/zoo/family.h"

namespace foretell::zoo {

/// The network that a config.json of Hugging Face's transformers describes.
struct HubNetwork {
  const Family* family = nullptr;
  std::unique_ptr<Configuration> configuration;
  /// What the file states and the family does not express, in sentences.
  std::vector<std::string> warnings;
  /// Type of the weights; empty if the file does not state it.
  std::optional<DType> dtype;
};

/// Reads the content of a config.json; `origin` names it in errors.
///
/// Throws Error(kUnsupported) for a model_type, class or value that no family
/// expresses, and Error(kCorrupt) for a value of the wrong type or out of
/// range; both name the key, its value and what was expected.
HubNetwork ReadHubConfig(const nlohmann::json& config,
                         const std::string& origin);

/// The same for a config.json, its folder, or the weights next to it. Empty if
/// `path` is none of these, and for a folder of another framework.
std::optional<HubNetwork> ReadHubFile(const std::string& path);

/// The text of that config.json, whatever it describes.
std::optional<std::string> ReadHubText(const std::string& path);

}  // namespace foretell::zoo
