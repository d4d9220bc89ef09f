#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/core/json_object.h"
#include "src/core/name_table.h"

namespace foretell {

/// The fields of one JSON object, described once to be read and to be written:
/// each method reads a field into its value as the method of JsonObject does
/// that it names, with its errors, or adds the value as a field.
class JsonFields {
 public:
  using Json = nlohmann::ordered_json;

  explicit JsonFields(JsonObject& from) : from_(&from) {}
  explicit JsonFields(Json& to) : to_(&to) {}

  bool IsReading() const { return from_ != nullptr; }
  /// Whether an optional field is there to be read, or `has_value`.
  bool IsGiven(const std::string& key, bool has_value = true) {
    return from_ ? from_->IsGiven(key) : has_value;
  }
  /// As IsGiven; writes null for a field without a value.
  bool IsGivenOrNull(const std::string& key, bool has_value) {
    if (!from_) (*to_)[key] = nullptr;
    return IsGiven(key, has_value);
  }
  /// Throws JsonObject::Fail unless `is_met` of a value that was read.
  void Require(bool is_met, const std::string& key,
               const std::string& problem) {
    if (from_ && !is_met) from_->Fail(key, problem);
  }

  /// JsonObject::RequireSchemaVersion.
  void SchemaVersion(int version) {
    Field("schema_version", version, [&] {
      from_->RequireSchemaVersion(version);
      return version;
    });
  }
  /// A field that follows from others: written, but not read.
  template <typename Compute>
  void Derived(const std::string& key, Compute compute) {
    if (from_) {
      from_->Has(key);
    } else {
      (*to_)[key] = compute();
    }
  }

  /// JsonObject::Get.
  template <typename T>
  void Value(const std::string& key, T& value) {
    Field(key, value, [&] { return from_->Get<T>(key); });
  }
  /// As Value, of a field that may be missing or null: `value` stays then.
  template <typename T>
  void Optional(const std::string& key, T& value) {
    if (IsGiven(key)) Value(key, value);
  }
  /// As Optional; writes null for an empty one.
  template <typename T>
  void Optional(const std::string& key, std::optional<T>& value) {
    if (IsGivenOrNull(key, value.has_value())) Value(key, Filled(value));
  }
  /// As Optional; writes null for an empty text.
  void TextOrNull(const std::string& key, std::string& text) {
    if (IsGivenOrNull(key, !text.empty())) Value(key, text);
  }
  /// JsonObject::String.
  void Text(const std::string& key, std::string& value) {
    Field(key, value, [&] { return from_->String(key); });
  }
  /// JsonObject::Strings.
  void Texts(const std::string& key, std::vector<std::string>& values) {
    Field(key, values, [&] { return from_->Strings(key); });
  }
  template <typename T>
  void Int(const std::string& key, T& value, std::int64_t at_least,
           std::int64_t at_most) {
    Field(key, value,
          [&] { return static_cast<T>(from_->Int(key, at_least, at_most)); });
  }
  void Ints(const std::string& key, std::vector<int>& values, int at_least,
            int at_most) {
    Field(key, values, [&] { return from_->Ints(key, at_least, at_most); });
  }
  void Number(const std::string& key, double& value, double at_least,
              double at_most) {
    Field(key, value, [&] { return from_->Number(key, at_least, at_most); });
  }
  /// As Number; null if empty.
  void NumberOrNull(const std::string& key, std::optional<double>& value,
                    double at_least, double at_most) {
    if (!IsGivenOrNull(key, value.has_value())) return;
    Number(key, Filled(value), at_least, at_most);
  }
  /// JsonObject::Named; `name` is the inverse of `parse`.
  template <typename T, typename Name, typename Parse>
  void Named(const std::string& key, T& value, Name name, Parse parse) {
    if (from_) {
      value = from_->Named(key, parse);
    } else {
      (*to_)[key] = name(value);
    }
  }
  template <typename Enum, std::size_t N>
  void Named(const std::string& key, Enum& value, const NameTable<N>& names) {
    Named(
        key, value, [&](Enum one) { return NameIn(names, one); },
        [&](std::string_view name) { return FindIn<Enum>(names, name); });
  }

  /// An object whose fields `describe(JsonFields&)` describes.
  template <typename Describe>
  void Object(const std::string& key, Describe describe) {
    if (from_) {
      JsonObject object = from_->Object(key);
      ReadAll(object, describe);
    } else {
      (*to_)[key] = Written(describe);
    }
  }
  /// As Object, of a value that is left out if it is empty.
  template <typename T, typename Describe>
  void OptionalObject(const std::string& key, std::optional<T>& value,
                      Describe describe) {
    if (!IsGiven(key, value.has_value())) return;
    Object(key, [&](JsonFields& fields) { describe(fields, Filled(value)); });
  }
  /// As OptionalObject; writes null for an empty one.
  template <typename T, typename Describe>
  void ObjectOrNull(const std::string& key, std::optional<T>& value,
                    Describe describe) {
    if (!from_) (*to_)[key] = nullptr;
    OptionalObject(key, value, describe);
  }
  /// A list of objects by `describe(JsonFields&, T&)`.
  template <typename T, typename Describe>
  void Objects(const std::string& key, std::vector<T>& values,
               Describe describe) {
    if (from_) {
      for (JsonObject& object : from_->Objects(key)) {
        T& value = values.emplace_back();
        ReadAll(object, [&](JsonFields& fields) { describe(fields, value); });
      }
      return;
    }
    Json list = Json::array();
    for (T& value : values) {
      list.push_back(
          Written([&](JsonFields& fields) { describe(fields, value); }));
    }
    (*to_)[key] = std::move(list);
  }

 private:
  template <typename T, typename Read>
  void Field(const std::string& key, T& value, Read read) {
    if (from_) {
      value = read();
    } else {
      (*to_)[key] = value;
    }
  }
  template <typename T>
  static T& Filled(std::optional<T>& value) {
    return value ? *value : value.emplace();
  }
  template <typename Describe>
  static void ReadAll(JsonObject& object, Describe describe) {
    JsonFields fields(object);
    describe(fields);
    object.Finish();
  }
  template <typename Describe>
  static Json Written(Describe describe) {
    Json json = Json::object();
    JsonFields fields(json);
    describe(fields);
    return json;
  }

  JsonObject* from_ = nullptr;
  Json* to_ = nullptr;
};

/// `value` as an object of the fields that `describe(JsonFields&, T&)`
/// describes.
template <typename T, typename Describe>
nlohmann::ordered_json WriteFields(T value, Describe describe) {
  auto json = nlohmann::ordered_json::object();
  JsonFields fields(json);
  describe(fields, value);
  return json;
}
/// The inverse: reads the fields of `object`, which is Finished, into `value`.
template <typename T, typename Describe>
T ReadFields(JsonObject object, Describe describe, T value = {}) {
  JsonFields fields(object);
  describe(fields, value);
  object.Finish();
  return value;
}

}  // namespace foretell
