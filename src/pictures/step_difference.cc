#include "src/pictures/step_difference.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/core/failure.h"
#include "src/judge/report_json.h"

namespace foretell::pictures {
namespace {

using Json = nlohmann::ordered_json;

/// A number of an answer.
struct FigureRow {
  const char* name;
  const char* unit;
  const char* field;  ///< JSON pointer within "result".
};

constexpr std::array kFigures = std::to_array<FigureRow>({
    {"parameters", "", "/parameters"},
    {"MACs", "", "/static_features/macs"},
    {"operators", "", "/operators"},
    {"memory", "MiB", "/memory/total_mib"},
    {"  reserved", "MiB", "/memory/reserved_mib"},
    {"  parameters", "MiB", "/memory/parameters_mib"},
    {"  buffers", "MiB", "/memory/buffers_mib"},
    {"  inputs", "MiB", "/memory/inputs_mib"},
    {"  activations", "MiB", "/memory/activations_mib"},
    {"  gradients", "MiB", "/memory/gradients_mib"},
    {"  optimizer", "MiB", "/memory/optimizer_mib"},
    {"  temporaries", "MiB", "/memory/temporaries_mib"},
    {"  workspaces", "MiB", "/memory/workspace_at_peak_mib"},
    {"latency", "ms", "/latency/ms"},
    {"energy", "J", "/energy/j"},
});

constexpr std::array kModuleNumbers = {"parameters", "macs", "result_mib",
                                       "gpu_us", "energy_j"};
/// Times have four digits in the documents; what differs less is the same.
constexpr double kSameShare = 1e-3;

constexpr std::array kSettings = {"model",       "format", "device",
                                  "environment", "mode",   "precision"};

[[noreturn]] void Refuse(const std::string& origin, const std::string& field) {
  throw Corrupt(
      "{}: {} is missing or of another type, expected a document of `foretell "
      "report --json`",
      origin, field);
}

void CheckModules(const Json& document, const std::string& origin) {
  if (!document.contains("modules") || !document["modules"].is_array()) {
    Refuse(origin, "modules");
  }
  for (const Json& module : document["modules"]) {
    const bool named = module.is_object() && module.contains("path") &&
                       module["path"].is_string();
    if (!named) Refuse(origin, "a module's path");
    for (const char* field : kModuleNumbers) {
      if (!module.contains(field) || !module[field].is_number()) {
        Refuse(origin, fmt::format("a module's {}", field));
      }
    }
  }
}

bool IsSame(double a, double b) {
  return std::abs(a - b) <= kSameShare * std::max(std::abs(a), std::abs(b));
}

Json FiguresOf(const Json& a, const Json& b) {
  Json figures = Json::array();
  for (const FigureRow& row : kFigures) {
    const Json::json_pointer field(row.field);
    const Json& before = a[field];
    const Json& after = b[field];
    if (before == 0 && after == 0) continue;
    figures.push_back(
        {{"name", row.name}, {"unit", row.unit}, {"a", before}, {"b", after}});
  }
  return figures;
}

/// A module in either answer; null if one lacks it.
struct ModulePair {
  Json a;
  Json b;

  double Number(const Json& side, const char* field) const {
    return side.is_null() ? 0 : side[field].get<double>();
  }
  bool Differs() const {
    return a.is_null() || b.is_null() ||
           !std::ranges::all_of(kModuleNumbers, [this](const char* field) {
             return IsSame(Number(a, field), Number(b, field));
           });
  }
  double Change() const {
    return std::abs(Number(a, "gpu_us") - Number(b, "gpu_us"));
  }
};

/// What of a module a row shows.
Json SideOf(const Json& module) {
  if (module.is_null()) return nullptr;
  Json side;
  for (const char* field : kModuleNumbers) side[field] = module[field];
  return side;
}

Json ModulesOf(const Json& a, const Json& b) {
  std::map<std::string, ModulePair> by_path;
  for (const Json& module : a["modules"]) {
    by_path[module["path"].get<std::string>()].a = module;
  }
  for (const Json& module : b["modules"]) {
    by_path[module["path"].get<std::string>()].b = module;
  }
  std::vector<std::pair<std::string, ModulePair>> changed;
  for (auto& [path, pair] : by_path) {
    if (pair.Differs()) changed.emplace_back(path, std::move(pair));
  }
  std::ranges::stable_sort(changed, std::greater{},
                           [](const auto& row) { return row.second.Change(); });
  Json modules = Json::array();
  for (const auto& [path, pair] : changed) {
    modules.push_back(
        {{"path", path}, {"a", SideOf(pair.a)}, {"b", SideOf(pair.b)}});
  }
  return modules;
}

}  // namespace

void CheckStep(const Json& document, const std::string& origin) {
  if (!document.is_object() || !document.contains("result") ||
      !document["result"].is_object()) {
    Refuse(origin, "result");
  }
  const Json& result = document["result"];
  for (const char* field : kSettings) {
    if (!result.contains(field) || !result[field].is_string()) {
      Refuse(origin, fmt::format("result.{}", field));
    }
  }
  for (const FigureRow& row : kFigures) {
    const Json::json_pointer field(row.field);
    if (!result.contains(field) || !result[field].is_number()) {
      Refuse(origin, fmt::format("result{}", row.field));
    }
  }
  CheckModules(document, origin);
}

Json DifferenceToJson(const Json& a, const Json& b) {
  return {{"schema_version", kReportSchemaVersion},
          {"a", a["result"]},
          {"b", b["result"]},
          {"figures", FiguresOf(a["result"], b["result"])},
          {"modules", ModulesOf(a, b)}};
}

}  // namespace foretell::pictures
