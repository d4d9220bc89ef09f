#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace foretell::zoo {

/// A field's value: a number, a list of numbers, a switch or a word.
using FieldValue = std::variant<bool, std::int64_t, double,
                                std::vector<std::int64_t>, std::string>;

struct Field {
  std::string name;
  FieldValue value;

  bool operator==(const Field&) const = default;
};

/// "3,4,6,3", "true", "0.25": what ParseValue reads. An empty list becomes an
/// empty text.
std::string FormatValue(const FieldValue& value);

/// Reads `text` as the type that `value` holds and stores it there. Throws
/// Error(kInvalidArgument) with the field's name, the text and the type.
void ParseValue(std::string_view name, std::string_view text,
                FieldValue& value);

/// Throws Error(kInvalidArgument): `name` is not one of `known`.
[[noreturn]] void RefuseField(std::string_view name,
                              const std::vector<Field>& known);

/// Calls `visit` with each name in `names` ("width, depth") and its value.
template <typename Visitor, typename... Values>
void VisitNamed(Visitor& visit, std::string_view names, Values&... values) {
  const auto next = [&names] {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 2, names.size()));
    return name;
  };
  (visit(next(), values), ...);
}

/// Declares Visit of a struct with these fields: it calls `visit("name",
/// field)` for each, in this order.
#define FORETELL_FIELDS(...)                      \
  template <typename Visitor>                     \
  void Visit(Visitor&& visit) {                   \
    VisitNamed(visit, #__VA_ARGS__, __VA_ARGS__); \
  }

/// All fields of `config`, in the order in which it declares them.
template <typename Config>
std::vector<Field> FieldsOf(Config config) {
  std::vector<Field> fields;
  config.Visit([&](std::string_view name, const auto& value) {
    fields.push_back({std::string(name), value});
  });
  return fields;
}

/// Sets field `name` of `config` from its text.
template <typename Config>
void SetField(Config& config, std::string_view name, std::string_view text) {
  bool found = false;
  config.Visit([&](std::string_view candidate, auto& member) {
    if (name != candidate) return;
    found = true;
    FieldValue value = member;
    ParseValue(name, text, value);
    member = std::get<std::remove_reference_t<decltype(member)>>(value);
  });
  if (!found) RefuseField(name, FieldsOf(config));
}

/// "layers=2,2&width=64" as pairs; throws Error(kInvalidArgument) for a part
/// without "=" and a field that is given twice.
std::vector<std::pair<std::string, std::string>> ParseChanges(
    std::string_view text);

}  // namespace foretell::zoo
