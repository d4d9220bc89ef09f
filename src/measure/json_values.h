#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/program.h"

namespace foretell::measure {

using Json = nlohmann::ordered_json;

/// A field as JSON: null for an empty optional or an empty text.
Json FieldJson(const std::string& text);
template <typename T>
Json FieldJson(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
template <typename T>
Json FieldJson(const T& value) {
  return value;
}

/// Reads object["key"] into `value`; leaves it alone where the object has no
/// such key or it is null. Throws nlohmann's exception for another type.
template <typename T>
void Read(const Json& object, const char* key, T& value) {
  const auto found = object.find(key);
  if (found != object.end() && !found->is_null()) value = found->get<T>();
}
template <typename T>
void Read(const Json& object, const char* key, std::optional<T>& value) {
  const auto found = object.find(key);
  if (found != object.end() && !found->is_null()) value = found->get<T>();
}

/// An object of the fields that `fields(values, visit)` visits as
/// visit("key", values.field), in that order; and back, where fields that are
/// missing or null keep their defaults.
template <typename T, typename Fields>
Json FieldsToJson(const T& values, const Fields& fields) {
  Json json = Json::object();
  fields(values, [&json](const char* key, const auto& value) {
    json[key] = FieldJson(value);
  });
  return json;
}
template <typename T, typename Fields>
T FieldsFromJson(const Json& json, const Fields& fields) {
  T values;
  fields(values,
         [&json](const char* key, auto& value) { Read(json, key, value); });
  return values;
}

/// Reads object["key"], a name, by `parse`, which returns an optional. Throws
/// Error(kCorrupt) that names key and text.
[[noreturn]] void RefuseName(const char* key, const std::string& text);
template <typename T, typename Parse>
void ReadName(const Json& object, const char* key, Parse parse, T& value) {
  std::string text;
  Read(object, key, text);
  if (text.empty()) return;
  const std::optional<T> parsed = parse(text);
  if (!parsed) RefuseName(key, text);
  value = *parsed;
}

/// [{"name": "x", "dtype": "f32", "shape": [8, 3]}], and back.
Json InputsToJson(const std::vector<BoundInput>& inputs);
std::vector<BoundInput> InputsFromJson(const Json& list);

/// Parses `text`, which must be an object; throws Error(kCorrupt) that begins
/// with `what`.
Json ParseObject(std::string_view text, const std::string& what);
[[noreturn]] void RefuseJson(const std::string& what, const std::string& why);

}  // namespace foretell::measure
