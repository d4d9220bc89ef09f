#include "datasets/zoo/hub_models.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "foretell/zoo.h"
#include "src/core/embedded_file.h"
#include "src/core/parse_json.h"

namespace foretell::zoo {

/// Made by foretell_embed.
std::span<const EmbeddedFile> ArchitectureFiles();

namespace {

/// The rows of all files: {"names": […], "source": "…", "config": {…}}.
const nlohmann::json& HubRows() {
  static const nlohmann::json kRows = [] {
    nlohmann::json rows = nlohmann::json::array();
    for (const EmbeddedFile& file : ArchitectureFiles()) {
      nlohmann::json document = ParseJson(file.bytes, file.path);
      for (nlohmann::json& row : document.at("models")) {
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }();
  return kRows;
}

}  // namespace

std::vector<std::string> HubNames() {
  std::vector<std::string> names;
  for (const nlohmann::json& row : HubRows()) {
    for (const nlohmann::json& name : row.at("names")) names.push_back(name);
  }
  return names;
}

std::optional<HubNetwork> FindHubModel(std::string_view name) {
  if (name.find('/') == std::string_view::npos) return std::nullopt;
  for (const nlohmann::json& row : HubRows()) {
    for (const nlohmann::json& one : row.at("names")) {
      if (one.get_ref<const std::string&>() != name) continue;
      return ReadHubConfig(row.at("config"), std::string(name));
    }
  }
  return std::nullopt;
}

}  // namespace foretell::zoo
