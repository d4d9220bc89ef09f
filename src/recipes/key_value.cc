#include "src/recipes/key_value.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>

#include "foretell/error.h"
#include "src/core/parse_json.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"

namespace foretell::recipes {
namespace {

using nlohmann::json;

[[noreturn]] void FailValue(const std::string& place, const json& value,
                            std::string_view expected) {
  throw Error(ErrorCode::kCorrupt, fmt::format("{} is {}, expected {}", place,
                                               ShowJson(value), expected));
}

/// A scalar as text: true, 4, 0.05, or the string itself.
std::string ScalarText(const json& value, const std::string& place,
                       std::string_view expected) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_integer()) return value.dump();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  FailValue(place, value, expected);
}

/// The conversion that `theirs` has in `values`; empty optional: none.
std::optional<std::string> Converted(std::string_view values,
                                     const std::string& theirs) {
  for (const std::string_view word : WordsIn(values)) {
    const std::size_t equals = word.find('=');
    if (!Matches(word.substr(0, equals), theirs)) continue;
    const std::string_view ours = word.substr(equals + 1);
    return ours == "*" ? theirs : std::string(ours);
  }
  return std::nullopt;
}

std::string KnownValues(std::string_view values) {
  std::vector<std::string> known;
  for (const std::string_view word : WordsIn(values)) {
    known.emplace_back(word.substr(0, word.find('=')));
  }
  return Joined(known);
}

/// `theirs` through row.values into `result`.
void AddConverted(const KeyRow& row, const std::string& theirs,
                  const std::string& place, KeyValue& result) {
  const std::string_view values =
      row.values.empty() ? std::string_view("false= *=*") : row.values;
  const std::optional<std::string> ours = Converted(values, theirs);
  if (!ours) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} is {}, expected {}", place,
                            ShowJson(json(theirs)), KnownValues(values)));
  }
  if (*ours == "!") {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} is {}, and only supervised training is "
                            "predicted, without the models, texts or pairs of "
                            "other kinds",
                            place, ShowJson(json(theirs))));
  }
  std::string_view text = *ours;
  if (text.ends_with('?')) {
    result.is_left_out = true;
    text.remove_suffix(1);
  }
  if (text.empty()) return;
  result.text.append(result.text.empty() ? "" : "|").append(text);
}

std::vector<std::string> Separated(const std::string& text, char separator) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == separator) {
      words.emplace_back();
    } else if (c != ' ') {
      words.back() += c;
    }
  }
  std::erase(words, "");
  return words;
}

std::vector<std::string> WordsOf(const json& value, char separator,
                                 const std::string& place) {
  constexpr std::string_view kExpected = "names";
  if (!value.is_array()) {
    return Separated(ScalarText(value, place, kExpected), separator);
  }
  std::vector<std::string> words;
  for (const json& one : value) {
    words.push_back(ScalarText(one, place, kExpected));
  }
  return words;
}

/// A module's name as an expression.
std::string Escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool is_word =
        std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (!is_word) text += '\\';
    text += c;
  }
  return text;
}

KeyValue NamesOf(const KeyRow& row, const json& value,
                 const std::string& place) {
  if (row.kind == Kind::kModules && value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text == "all-linear") return {std::string(kAllLayers)};
    // PEFT matches the whole name of a module.
    return {fmt::format("^(?:{})\\.", text)};
  }
  KeyValue result;
  for (const std::string& name : WordsOf(value, ',', place)) {
    const bool is_all = name == kAllLayers || name == "all-linear";
    if (is_all) return {std::string(kAllLayers)};
    AddConverted(row, Escaped(name), place, result);
  }
  return result;
}

std::string CountText(const json& value, const std::string& place) {
  double number = -1;
  if (value.is_number()) number = value.get<double>();
  if (value.is_string()) {
    number = ParseNumber<double>(value.get<std::string>()).value_or(-1);
  }
  const bool is_count = number >= 1 && number == std::floor(number) &&
                        number <= std::numeric_limits<std::int32_t>::max();
  if (!is_count) FailValue(place, value, "a whole number from 1");
  return fmt::format("{}", static_cast<std::int64_t>(number));
}

std::string NumberText(const json& value, const std::string& place) {
  double number = -1;
  if (value.is_number()) number = value.get<double>();
  if (value.is_string()) {
    number = ParseNumber<double>(value.get<std::string>()).value_or(-1);
  }
  if (!(number >= 0 && number < 1))
    FailValue(place, value, "a number in [0, 1)");
  return fmt::format("{}", number);
}

/// "qlora_llama3_1_8b" of "torchtune.models.llama3_1.qlora_llama3_1_8b",
/// without "qlora_".
std::string ComponentOf(std::string text) {
  text.erase(0, text.rfind('.') + 1);
  for (const std::string_view prefix : {"qlora_", "lora_"}) {
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
  }
  return text;
}

}  // namespace

bool Matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // What follows the last star is at the end; before it the first place does.
  while (true) {
    const std::string_view part = pattern.substr(0, pattern.find('*'));
    if (part.size() == pattern.size()) return text.ends_with(part);
    const std::size_t found = text.find(part);
    if (found == std::string_view::npos) return false;
    text.remove_prefix(found + part.size());
    pattern.remove_prefix(part.size() + 1);
  }
}

std::vector<std::string_view> WordsIn(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (end > 0) words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

KeyValue ConvertValue(const KeyRow& row, const json& value,
                      const std::string& place) {
  KeyValue result;
  switch (row.kind) {
    case Kind::kCount: {
      if (value == "auto") return {};
      if (row.values.empty()) return {CountText(value, place)};
      const std::string text = ScalarText(value, place, "a whole number");
      if (const auto ours = Converted(row.values, text)) return {*ours};
      return {CountText(value, place)};
    }
    case Kind::kNumber:
      return {NumberText(value, place)};
    case Kind::kNames:
    case Kind::kModules:
      return NamesOf(row, value, place);
    case Kind::kWords: {
      KeyValue words;
      for (const std::string& word : WordsOf(value, ' ', place)) {
        KeyValue one;
        AddConverted(row, word, place, one);
        words.is_left_out |= one.is_left_out;
        if (words.text.empty()) words.text = one.text;
      }
      return words;
    }
    case Kind::kObject:
      if (!value.is_object()) FailValue(place, value, "an object");
      return {value.empty() ? "" : std::string(row.values)};
    case Kind::kFlag:
      if (!value.is_boolean()) FailValue(place, value, "true or false");
      break;
    default:
      break;
  }
  std::string text = ScalarText(value, place, "text");
  if (row.kind == Kind::kComponent) text = ComponentOf(text);
  AddConverted(row, text, place, result);
  return result;
}

std::string ShowValue(const json& value) {
  const std::string text = ShowJson(value);
  const bool is_whole = value.is_string() && text.ends_with('"');
  return is_whole ? text.substr(1, text.size() - 2) : text;
}

}  // namespace foretell::recipes
