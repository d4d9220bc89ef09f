#include "src/core/json_object.h"

#include <cmath>
#include <utility>

#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"

namespace foretell {
namespace {

using nlohmann::json;

bool IsPlainString(const json& value) {
  return value.is_string() && !value.get_ref<const std::string&>().empty() &&
         Printable(value.get_ref<const std::string&>()) ==
             value.get_ref<const std::string&>();
}

/// Whether `value` is a whole number that int64 holds and in range.
bool IsIntWithin(const json& value, std::int64_t at_least,
                 std::int64_t at_most) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    return false;
  }
  const std::int64_t number = value.get<std::int64_t>();
  return number >= at_least && number <= at_most;
}

std::string IntRange(std::int64_t at_least, std::int64_t at_most) {
  return fmt::format("expected a whole number from {} to {}", at_least,
                     at_most);
}

}  // namespace

JsonObject::JsonObject(const json& value, std::string origin, std::string place,
                       UnknownFields unknown)
    : value_(&value),
      origin_(std::move(origin)),
      place_(std::move(place)),
      unknown_(unknown) {
  if (!value.is_object())
    Fail("", "is " + ShowJson(value) + ", expected an object");
}

bool JsonObject::Has(const std::string& key) {
  known_.insert(key);
  return value_->contains(key);
}

bool JsonObject::IsGiven(const std::string& key) {
  return Has(key) && !value_->at(key).is_null();
}

std::string JsonObject::String(const std::string& key) {
  const json& field = Field(key);
  if (!IsPlainString(field)) {
    Fail(key, "is " + ShowJson(field) +
                  ", expected a non-empty string without control characters");
  }
  return field.get<std::string>();
}

std::vector<std::string> JsonObject::Strings(const std::string& key) {
  std::vector<std::string> strings;
  std::set<std::string> seen;
  for (const json& item : Array(key)) {
    if (!IsPlainString(item)) {
      Fail(key, "contains " + ShowJson(item) +
                    ", expected non-empty strings without control characters");
    }
    strings.push_back(item.get<std::string>());
    if (!seen.insert(strings.back()).second) {
      Fail(key, "contains " + ShowJson(item) + " twice, expected it once");
    }
  }
  return strings;
}

std::int64_t JsonObject::Int(const std::string& key, std::int64_t at_least,
                             std::int64_t at_most) {
  return ToInt(Field(key), key, at_least, at_most);
}

std::vector<int> JsonObject::Ints(const std::string& key, int at_least,
                                  int at_most) {
  std::vector<int> numbers;
  for (const json& item : Array(key)) {
    if (!IsIntWithin(item, at_least, at_most)) {
      Fail(key,
           "contains " + ShowJson(item) + ", " + IntRange(at_least, at_most));
    }
    numbers.push_back(item.get<int>());
  }
  return numbers;
}

double JsonObject::Number(const std::string& key, double at_least,
                          double at_most) {
  const json& field = Field(key);
  const double number = field.is_number() ? field.get<double>() : NAN;
  if (!(number >= at_least && number <= at_most)) {
    Fail(key, "is " + ShowJson(field) + ", expected a number from " +
                  FormatShort(at_least, 6) + " to " + FormatShort(at_most, 6));
  }
  return number;
}

bool JsonObject::Bool(const std::string& key) { return Get<bool>(key); }

JsonObject JsonObject::Object(const std::string& key) {
  return JsonObject(Field(key), origin_, PlaceOf(key), unknown_);
}

std::vector<JsonObject> JsonObject::Objects(const std::string& key) {
  std::vector<JsonObject> objects;
  for (const json& item : Array(key)) {
    objects.emplace_back(item, origin_,
                         fmt::format("{}[{}]", PlaceOf(key), objects.size()),
                         unknown_);
  }
  return objects;
}

std::vector<std::string> JsonObject::Keys() const {
  std::vector<std::string> keys;
  for (const auto& item : value_->items()) keys.push_back(item.key());
  return keys;
}

void JsonObject::Finish() const {
  if (unknown_ == UnknownFields::kIgnored) return;
  for (const std::string& key : Keys()) {
    if (known_.count(key) > 0) continue;
    std::string names;
    for (const std::string& name : known_) {
      if (!names.empty()) names += ", ";
      names += name;
    }
    Fail("", "unknown field " + ShowJson(json(key)) +
                 ", expected one of: " + names);
  }
}

void JsonObject::RequireSchemaVersion(std::int64_t expected) {
  constexpr char kKey[] = "schema_version";
  constexpr std::int64_t kNewest = 1'000'000'000;
  const std::int64_t version = Int(kKey, 1, kNewest);
  if (version == expected) return;
  throw Unsupported("{}: {} is {}, expected {}", origin_, PlaceOf(kKey),
                    version, expected);
}

void JsonObject::Fail(const std::string& key,
                      const std::string& problem) const {
  const std::string place = PlaceOf(key);
  throw Corrupt("{}: {}{}{}", origin_, place, (place.empty() ? "" : " "),
                problem);
}

const json& JsonObject::Field(const std::string& key) {
  known_.insert(key);
  const auto found = value_->find(key);
  if (found == value_->end()) Fail(key, "is missing");
  return *found;
}

const json& JsonObject::Array(const std::string& key) {
  return ToArray(Field(key), key);
}

std::int64_t JsonObject::ToInt(const json& field, const std::string& key,
                               std::int64_t at_least,
                               std::int64_t at_most) const {
  if (!IsIntWithin(field, at_least, at_most)) {
    Fail(key, fmt::format("is {}, {}", ShowJson(field),
                          IntRange(at_least, at_most)));
  }
  return field.get<std::int64_t>();
}

std::uint64_t JsonObject::ToUnsigned(const json& field,
                                     const std::string& key) const {
  if (!field.is_number_unsigned()) {
    Fail(key,
         fmt::format("is {}, expected a whole number >= 0", ShowJson(field)));
  }
  return field.get<std::uint64_t>();
}

double JsonObject::ToNumber(const json& field, const std::string& key) const {
  if (!field.is_number() || !std::isfinite(field.get<double>())) {
    Fail(key, fmt::format("is {}, expected a finite number", ShowJson(field)));
  }
  return field.get<double>();
}

bool JsonObject::ToBool(const json& field, const std::string& key) const {
  if (!field.is_boolean()) {
    Fail(key, fmt::format("is {}, expected true or false", ShowJson(field)));
  }
  return field.get<bool>();
}

std::string JsonObject::ToText(const json& field,
                               const std::string& key) const {
  if (!field.is_string()) {
    Fail(key, fmt::format("is {}, expected a string", ShowJson(field)));
  }
  return field.get<std::string>();
}

const json& JsonObject::ToArray(const json& field,
                                const std::string& key) const {
  if (!field.is_array()) {
    Fail(key, fmt::format("is {}, expected an array", ShowJson(field)));
  }
  return field;
}

const json& JsonObject::ToObject(const json& field,
                                 const std::string& key) const {
  if (!field.is_object()) {
    Fail(key, fmt::format("is {}, expected an object", ShowJson(field)));
  }
  return field;
}

std::string JsonObject::PlaceOf(const std::string& key) const {
  return place_.empty() || key.empty() ? place_ + key : place_ + "." + key;
}

}  // namespace foretell
