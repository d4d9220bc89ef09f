#include "datasets/zoo/hub_models.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "foretell/zoo.h"
#include "src/core/embedded_file.h"
#include "src/core/ignoring_case.h"
#include "src/core/parse_json.h"

namespace foretell::zoo {

/// Made by foretell_embed.
std::span<const EmbeddedFile> ArchitectureFiles();

namespace {

/// The rows of all files: {"names": […], "source": "…", "config": {…}}, or
/// instead of the configuration {"network": "sd3_medium"} of the zoo.
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

/// The row that has `name`; null if none has.
const nlohmann::json* FindRow(std::string_view name) {
  for (const nlohmann::json& row : HubRows()) {
    for (const nlohmann::json& one : row.at("names")) {
      if (one.get_ref<const std::string&>() == name) return &row;
    }
  }
  return nullptr;
}

/// Endings of copies in another format, which flags state: of unsloth, mlx,
/// axolotl-quants, TechxGenus, neuralmagic and nvidia.
constexpr std::string_view kCopies[] = {
    "-bnb-4bit",    "-unsloth",  "-bnb-nf4-bf16", "-4bit",  "-8bit",
    "-bf16",        "-fp16",     "-gptq",         "-awq",   "-fp8",
    "-fp8-dynamic", "-nvfp4",    "-dequantized",  "-w4a16", "-w8a8",
    "-gptq-int4",   "-gptq-int8"};

/// The name without its owner and without the endings of copies, in lower case.
std::string LastName(std::string_view model) {
  std::string name = LowerCase(model.substr(model.find('/') + 1));
  const auto is_ending = [&name](std::string_view ending) {
    return name.ends_with(ending);
  };
  const auto* ending = std::ranges::find_if(kCopies, is_ending);
  while (ending != std::end(kCopies)) {
    name.resize(name.size() - ending->size());
    ending = std::ranges::find_if(kCopies, is_ending);
  }
  return name;
}

/// "owner/name", and not the path of a file: "./name", "/folder/name".
bool IsHubName(std::string_view name) {
  return std::ranges::count(name, '/') == 1 && name.front() != '/' &&
         name.front() != '.';
}

}  // namespace

std::vector<std::string> HubNames() {
  std::vector<std::string> names;
  for (const nlohmann::json& row : HubRows()) {
    for (const nlohmann::json& name : row.at("names")) names.push_back(name);
  }
  return names;
}

std::optional<std::string> KnownHubName(std::string_view name) {
  if (!IsHubName(name)) return std::nullopt;
  if (FindRow(name) != nullptr) return std::string(name);
  const std::vector<std::string> names = HubNames();
  const auto known = std::ranges::find(names, LastName(name), &LastName);
  if (known == names.end()) return std::nullopt;
  return *known;
}

std::optional<HubNetwork> FindHubModel(std::string_view name) {
  const nlohmann::json* row = FindRow(name);
  if (row == nullptr || !row->contains("config")) return std::nullopt;
  HubNetwork network = ReadHubConfig(row->at("config"), std::string(name));
  if (row->contains("part")) {
    network.warnings.push_back(
        fmt::format("{}: only its {} is predicted", name,
                    row->at("part").get_ref<const std::string&>()));
  }
  return network;
}

std::string StockOfHubName(std::string_view name) {
  const nlohmann::json* row = FindRow(name);
  return row == nullptr ? "" : row->value("network", "");
}

}  // namespace foretell::zoo
