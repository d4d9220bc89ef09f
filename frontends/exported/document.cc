#include "frontends/exported/document.h"

#include <fmt/core.h>

#include <array>
#include <limits>

#include "foretell/error.h"
#include "src/core/parse_json.h"

namespace foretell::exported {
namespace {

/// Origins of operators, and how modules were called: more than half of a
/// file.
constexpr std::array<std::string_view, 5> kDropped = {
    "from_node", "custom", "source_fn_stack", "torch_fn", "in_spec"};

}  // namespace

Document::Document(std::string_view text, std::string origin)
    : root_(ParseJson(
          text, origin,
          {.levels = kMostLevels, .values = kMostValues, .dropped = kDropped})),
      origin_(std::move(origin)) {}

void Document::Fail(const std::string& problem) const {
  throw Error(ErrorCode::kCorrupt, InPlace(problem));
}

void Document::Refuse(const std::string& problem) const {
  throw Error(ErrorCode::kUnsupported, InPlace(problem));
}

std::string Document::InPlace(const std::string& problem) const {
  return fmt::format("{}: {}{}{}", origin_, place_, place_.empty() ? "" : ": ",
                     problem);
}

const Json* Document::Find(const Json& object, std::string_view key) const {
  if (!object.is_object()) {
    Fail(fmt::format("{} is not an object with '{}'", ShowJson(object), key));
  }
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return nullptr;
  return &*found;
}

const Json& Document::Member(const Json& object, std::string_view key) const {
  const Json* found = Find(object, key);
  if (found == nullptr)
    Fail(fmt::format("{} lacks '{}'", ShowJson(object), key));
  return *found;
}

std::string Document::Text(const Json& object, std::string_view key) const {
  return ToText(Member(object, key));
}

std::int64_t Document::Int(const Json& object, std::string_view key) const {
  return ToInt(Member(object, key));
}

bool Document::Bool(const Json& object, std::string_view key) const {
  return ToBool(Member(object, key));
}

const Json& Document::List(const Json& object, std::string_view key) const {
  return ToList(Member(object, key));
}

const Json& Document::Object(const Json& object, std::string_view key) const {
  const Json& member = Member(object, key);
  if (!member.is_object()) Fail(fmt::format("'{}' is no object", key));
  return member;
}

std::string Document::ToText(const Json& value) const {
  if (!value.is_string()) Fail(ShowJson(value) + " is no text");
  return value.get<std::string>();
}

std::int64_t Document::ToInt(const Json& value) const {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() &&
       value.get<std::uint64_t>() >
           std::uint64_t{std::numeric_limits<std::int64_t>::max()})) {
    Fail(ShowJson(value) + " is not a 64-bit integer");
  }
  return value.get<std::int64_t>();
}

double Document::ToDouble(const Json& value) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value == "Infinity") return kInfinity;
  if (value == "-Infinity") return -kInfinity;
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) Fail(ShowJson(value) + " is no number");
  return value.get<double>();
}

bool Document::ToBool(const Json& value) const {
  if (!value.is_boolean()) Fail(ShowJson(value) + " is neither true nor false");
  return value.get<bool>();
}

const Json& Document::ToList(const Json& value) const {
  if (!value.is_array()) Fail(ShowJson(value) + " is no list");
  return value;
}

std::pair<std::string, const Json*> Document::ToUnion(const Json& value) const {
  if (!value.is_object() || value.size() != 1) {
    Fail(ShowJson(value) + " is not an object with one member");
  }
  return {value.begin().key(), &value.begin().value()};
}

}  // namespace foretell::exported
