#include "src/recipes/documents.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <exception>
#include <optional>
#include <sstream>

#include "foretell/error.h"
#include "src/core/files.h"
#include "src/core/ignoring_case.h"
#include "src/core/parse_json.h"
#include "src/core/parse_number.h"

namespace foretell::recipes {
namespace {

using nlohmann::json;

/// Words that are null, true and false in YAML 1.1 in any case.
constexpr std::string_view kNulls[] = {"", "~", "null"};
constexpr std::string_view kTrues[] = {"true", "yes", "on"};
constexpr std::string_view kFalses[] = {"false", "no", "off"};

template <typename Words>
bool IsOneOf(const Words& words, std::string_view text) {
  return std::ranges::find(words, text) != std::end(words);
}

/// "1_000" without underscores, if it begins as a number.
std::string Digits(std::string text) {
  const bool is_number = text.find_first_of("0123456789") <= 1;
  if (is_number) std::erase(text, '_');
  if (text.starts_with('+')) text.erase(0, 1);
  return text;
}

[[noreturn]] void RefuseToml(const std::string& origin,
                             const std::string& problem) {
  throw Error(ErrorCode::kCorrupt, fmt::format("{}: {}", origin, problem));
}

bool IsTomlName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

/// The table at the path `names`, which is made if it does not exist.
json& TableAt(json& root, const std::vector<std::string>& names,
              const std::string& origin) {
  if (names.size() >= kMostLevels) {
    RefuseToml(origin,
               fmt::format("nested deeper than {} levels", kMostLevels));
  }
  json* table = &root;
  for (const std::string& name : names) {
    if (!IsTomlName(name)) {
      RefuseToml(origin,
                 fmt::format("{} is not a table's name", ShowJson(json(name))));
    }
    table = &(*table)[name];
    if (table->is_null()) *table = json::object();
    if (!table->is_object()) {
      RefuseToml(origin,
                 fmt::format("{} is {}, and a table", name, ShowJson(*table)));
    }
  }
  return *table;
}

}  // namespace

json ResolveScalar(const std::string& text) {
  const std::string small = LowerCase(text);
  if (IsOneOf(kNulls, small)) return nullptr;
  if (IsOneOf(kTrues, small)) return true;
  if (IsOneOf(kFalses, small)) return false;
  const std::string digits = Digits(text);
  if (const auto whole = ParseNumber<std::int64_t>(digits)) return *whole;
  const std::optional<double> number = ParseNumber<double>(digits);
  if (number && std::isfinite(*number)) return *number;
  return text;
}

json ParseToml(std::string_view text, const std::string& origin) {
  std::istringstream lines{std::string(text)};
  json root = json::object();
  std::size_t values = 0;
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(lines)) {
    json& table = TableAt(root, item.parents, origin);
    // The marks of a table's beginning and end.
    if (item.name == "++" || item.name == "--") continue;
    if (!IsTomlName(item.name)) {
      RefuseToml(origin, fmt::format("{} is not a key, expected key = value",
                                     ShowJson(json(item.name))));
    }
    if ((values += 1 + item.inputs.size()) > kMostValues) {
      RefuseToml(origin, fmt::format("more than {} values", kMostValues));
    }
    json list = json::array();
    for (const std::string& input : item.inputs) {
      list.push_back(ResolveScalar(input));
    }
    const json value = list.size() == 1 ? list.front() : list;
    const auto [field, is_new] = table.emplace(item.name, value);
    if (is_new) continue;
    RefuseToml(origin, fmt::format("{} is given twice, as {} and {}", item.name,
                                   ShowJson(*field), ShowJson(value)));
  }
  return root;
}

json ReadDocument(const std::string& path) {
  const std::string text = ReadFile(path, kMostBytes);
  const std::string small = LowerCase(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  json document;
  if (small.ends_with(".toml")) {
    document = ParseToml(text, path);
  } else if (small.ends_with(".yaml") || small.ends_with(".yml") ||
             (!small.ends_with(".json") &&
              (first == std::string::npos || text[first] != '{'))) {
    document = ParseYaml(text, path);
  } else {
    document =
        ParseJson(text, path, {.levels = kMostLevels, .values = kMostValues});
  }
  if (document.is_object()) return document;
  throw Error(ErrorCode::kCorrupt, fmt::format("{}: is {}, expected an object",
                                               path, ShowJson(document)));
}

}  // namespace foretell::recipes
