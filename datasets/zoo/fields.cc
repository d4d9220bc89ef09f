#include "datasets/zoo/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "foretell/error.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"

namespace foretell::zoo {
namespace {

/// Largest number in a configuration: above the 1,010,000 positions of Qwen2.5
/// 1M, and products of three stay below 2^63.
constexpr std::int64_t kMaxNumber = std::int64_t{1} << 20;
constexpr std::size_t kMaxListLength = 1000;

[[noreturn]] void Refuse(std::string_view name, std::string_view text,
                         const std::string& expected) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}={}: expected {}", name, text, expected));
}

/// The parts of `text` between separators; none for an empty text.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
    if (text.empty()) parts.push_back(text);
  }
  return parts;
}

/// Parses into the alternative that the variant holds.
struct Parser {
  std::string_view name;
  std::string_view text;

  void operator()(bool& value) const {
    if (text != "true" && text != "false") {
      Refuse(name, text, "true or false");
    }
    value = text == "true";
  }
  void operator()(std::int64_t& value) const { value = Integer(text); }
  void operator()(double& value) const {
    const auto number = ParseNumber<double>(text);
    if (!number || !std::isfinite(*number) ||
        std::abs(*number) > static_cast<double>(kMaxNumber)) {
      Refuse(name, text, fmt::format("a number of at most {}", kMaxNumber));
    }
    value = *number;
  }
  void operator()(std::vector<std::int64_t>& value) const {
    value.clear();
    for (const std::string_view part : Split(text, ',')) {
      value.push_back(Integer(part));
    }
    if (value.size() > kMaxListLength) {
      Refuse(name, text, fmt::format("at most {} numbers", kMaxListLength));
    }
  }
  void operator()(std::string& value) const { value = text; }

  std::int64_t Integer(std::string_view part) const {
    const auto number = ParseNumber<std::int64_t>(part);
    if (!number || *number < 0 || *number > kMaxNumber) {
      Refuse(name, text, fmt::format("integers from 0 to {}", kMaxNumber));
    }
    return *number;
  }
};

struct Formatter {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const {
    return fmt::format("{}", value);
  }
  std::string operator()(double value) const {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
    return std::string(text, end);
  }
  std::string operator()(const std::vector<std::int64_t>& values) const {
    return fmt::format("{}", fmt::join(values, ","));
  }
  std::string operator()(const std::string& value) const { return value; }
};

}  // namespace

std::string FormatValue(const FieldValue& value) {
  return std::visit(Formatter{}, value);
}

void ParseValue(std::string_view name, std::string_view text,
                FieldValue& value) {
  std::visit(Parser{name, text}, value);
}

void RefuseField(std::string_view name, const std::vector<Field>& known) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("no field '{}', there are: {}", name,
                          Joined(known | std::views::transform(&Field::name))));
}

std::vector<std::pair<std::string, std::string>> ParseChanges(
    std::string_view text) {
  std::vector<std::pair<std::string, std::string>> changes;
  for (const std::string_view part : Split(text, '&')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("'{}': expected field=value", part));
    }
    const std::string field(part.substr(0, equals));
    const std::string value(part.substr(equals + 1));
    for (const auto& [earlier, said] : changes) {
      if (earlier != field) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}={} and {}={}: one of the two", field, said,
                              field, value));
    }
    changes.emplace_back(field, value);
  }
  return changes;
}

}  // namespace foretell::zoo
