#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "foretell/program.h"
#include "src/core/json_object.h"

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
template <typename Fields, typename T>
void ReadFields(JsonObject object, const Fields& fields, T& values) {
  fields(values,
         [&object](const char* key, auto& value) { object.Read(key, value); });
}

/// [{"name": "x", "dtype": "f32", "shape": [8, 3]}], and the inverse for an
/// optional field "inputs".
Json InputsToJson(const std::vector<BoundInput>& inputs);
std::vector<BoundInput> ReadInputs(JsonObject& object);

}  // namespace foretell::measure
