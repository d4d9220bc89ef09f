#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace foretell {

/// Parses a JSON document; throws Error(kCorrupt) that names `origin` for a
/// syntax error, a field that is given twice, or nesting beyond 16 levels.
nlohmann::json ParseJson(std::string_view text, std::string_view origin);

/// Strict view of one JSON object: every field that is read must be there with
/// the right type and range, and every field that is there must be known.
///
/// All methods throw Error(kCorrupt) that names the file, the field, its value
/// and what was expected. The document must outlive the view.
class JsonObject {
 public:
  /// `place` is the path in the file, "" for its root.
  JsonObject(const nlohmann::json& value, std::string origin,
             std::string place);

  /// Whether the optional field `key` is there; makes it a known one.
  bool Has(const std::string& key);
  /// A string that is not empty and has no control characters.
  std::string String(const std::string& key);
  /// An array of such strings, all different.
  std::vector<std::string> Strings(const std::string& key);
  /// A whole number of `at_least`..`at_most`.
  std::int64_t Int(const std::string& key, std::int64_t at_least,
                   std::int64_t at_most);
  /// An array of such numbers.
  std::vector<int> Ints(const std::string& key, int at_least, int at_most);
  /// A finite number of `at_least`..`at_most`.
  double Number(const std::string& key, double at_least, double at_most);
  bool Bool(const std::string& key);
  /// What `parse` makes of a string; it refuses one by an empty optional.
  template <typename Parse>
  auto Named(const std::string& key, Parse parse) {
    const std::string text = String(key);
    const auto value = parse(text);
    if (!value) Fail(key, "is '" + text + "', which is unknown");
    return *value;
  }
  JsonObject Object(const std::string& key);
  std::vector<JsonObject> Objects(const std::string& key);
  /// All field names.
  std::vector<std::string> Keys() const;

  /// Refuses fields that no method above was asked for.
  void Finish() const;

  /// Throws: `origin: place.key: problem`.
  [[noreturn]] void Fail(const std::string& key,
                         const std::string& problem) const;

 private:
  const nlohmann::json& Field(const std::string& key);
  const nlohmann::json& Array(const std::string& key);
  std::string PlaceOf(const std::string& key) const;

  const nlohmann::json* value_;
  std::string origin_;
  std::string place_;
  std::set<std::string> known_;
};

}  // namespace foretell
