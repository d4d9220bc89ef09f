#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/core/parse_json.h"

namespace foretell {

/// What Finish does with a field that was not read.
enum class UnknownFields { kRefused, kIgnored };

/// Strict view of one JSON object: every field that is read must exist with the
/// right type and range, unless its method states otherwise, and Finish checks
/// that every existing field is known.
///
/// All methods throw Error(kCorrupt) that names the file, the field, its value
/// and what was expected. The document must outlive the view.
class JsonObject {
 public:
  /// `place` is the path in the file, "" for its root. `unknown` holds for
  /// the objects inside as well.
  JsonObject(const nlohmann::json& value, std::string origin, std::string place,
             UnknownFields unknown = UnknownFields::kRefused);

  /// True if the optional field `key` exists; marks it as known.
  bool Has(const std::string& key);
  /// As Has; a field that is null counts as missing.
  bool IsGiven(const std::string& key);
  /// A field as `T`: any string, a finite number, a whole number that T holds,
  /// true or false, a list of such, or a map from names to such.
  template <typename T>
  T Get(const std::string& key) {
    return Convert<T>(Field(key), key);
  }
  /// A string that is not empty and Printable (printable.h).
  std::string String(const std::string& key);
  /// An array of such strings, all different.
  std::vector<std::string> Strings(const std::string& key);
  /// A whole number of `at_least`..`at_most`.
  std::int64_t Int(const std::string& key, std::int64_t at_least,
                   std::int64_t at_most);
  /// Reads "schema_version". Throws Error(kUnsupported) for another than
  /// `expected`.
  void RequireSchemaVersion(std::int64_t expected);
  /// An array of such numbers.
  std::vector<int> Ints(const std::string& key, int at_least, int at_most);
  /// A finite number of `at_least`..`at_most`.
  double Number(const std::string& key, double at_least, double at_most);
  bool Bool(const std::string& key);
  /// A string converted by `parse`, which returns an empty optional for an
  /// invalid one.
  template <typename Parse>
  auto Named(const std::string& key, Parse parse) {
    const std::string text = String(key);
    const auto value = parse(text);
    if (!value) Fail(key, fmt::format("is '{}', which is unknown", text));
    return *value;
  }
  JsonObject Object(const std::string& key);
  std::vector<JsonObject> Objects(const std::string& key);
  /// All field names.
  std::vector<std::string> Keys() const;

  /// Refuses fields that no method above has read, unless they are ignored.
  void Finish() const;

  /// Throws: `origin: place.key: problem`.
  [[noreturn]] void Fail(const std::string& key,
                         const std::string& problem) const;

 private:
  template <typename T>
  T Convert(const nlohmann::json& field, const std::string& key) const;
  std::int64_t ToInt(const nlohmann::json& field, const std::string& key,
                     std::int64_t at_least, std::int64_t at_most) const;
  std::uint64_t ToUnsigned(const nlohmann::json& field,
                           const std::string& key) const;
  double ToNumber(const nlohmann::json& field, const std::string& key) const;
  bool ToBool(const nlohmann::json& field, const std::string& key) const;
  std::string ToText(const nlohmann::json& field, const std::string& key) const;
  const nlohmann::json& ToArray(const nlohmann::json& field,
                                const std::string& key) const;
  const nlohmann::json& ToObject(const nlohmann::json& field,
                                 const std::string& key) const;
  const nlohmann::json& Field(const std::string& key);
  const nlohmann::json& Array(const std::string& key);
  std::string PlaceOf(const std::string& key) const;

  const nlohmann::json* value_;
  std::string origin_;
  std::string place_;
  UnknownFields unknown_;
  std::set<std::string> known_;
};

template <typename T>
T JsonObject::Convert(const nlohmann::json& field,
                      const std::string& key) const {
  if constexpr (std::is_same_v<T, std::string>) {
    return ToText(field, key);
  } else if constexpr (std::is_same_v<T, bool>) {
    return ToBool(field, key);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return ToUnsigned(field, key);
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(ToInt(field, key, Limits::min(), Limits::max()));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(ToNumber(field, key));
  } else if constexpr (requires { typename T::mapped_type; }) {
    T map;
    for (const auto& item : ToObject(field, key).items()) {
      map[item.key()] = Convert<typename T::mapped_type>(
          item.value(), fmt::format("{}.{}", key, item.key()));
    }
    return map;
  } else {
    T list;
    for (const auto& item : ToArray(field, key)) {
      list.push_back(Convert<typename T::value_type>(
          item, fmt::format("{}[{}]", key, list.size())));
    }
    return list;
  }
}

}  // namespace foretell
