#include "frontends/exported/document.h"

#include <fmt/core.h>

#include <array>
#include <limits>

#include "foretell/error.h"
#include "src/core/parse_json.h"

namespace foretell::exported {
namespace {

/// Where operators came from, and how modules were called: more than half of a
/// file.
constexpr std::array<std::string_view, 5> kDropped = {
    "from_node", "custom", "source_fn_stack", "torch_fn", "module_call_graph"};

bool IsDropped(const std::string& key) {
  for (const std::string_view name : kDropped) {
    if (key == name) return true;
  }
  return false;
}

constexpr std::size_t kMostShown = 60;

std::string Show(const Json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                Json::error_handler_t::replace);
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "...";
  return text;
}

}  // namespace

Document::Document(std::string_view text, std::string origin)
    : origin_(std::move(origin)) {
  std::int64_t values = 0;
  const auto keep = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMostLevels) {
      Fail(fmt::format("nested deeper than {} levels", kMostLevels));
    }
    if (++values > kMostValues) {
      Fail(fmt::format("has more than {} values", kMostValues));
    }
    return event != Json::parse_event_t::key ||
           !IsDropped(parsed.get_ref<const std::string&>());
  };
  try {
    root_ = Json::parse(text, keep);
  } catch (const Json::parse_error& error) {
    Fail(JsonProblem(text, error.byte, error.what()));
  } catch (const Json::exception& error) {
    Fail(error.what());
  }
}

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

const Json* Document::Find(const Json& object, const char* key) const {
  if (!object.is_object()) {
    Fail(fmt::format("{} is no object with '{}'", Show(object), key));
  }
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return nullptr;
  return &*found;
}

const Json& Document::Member(const Json& object, const char* key) const {
  const Json* found = Find(object, key);
  if (found == nullptr) Fail(fmt::format("{} lacks '{}'", Show(object), key));
  return *found;
}

std::string Document::Text(const Json& object, const char* key) const {
  return ToText(Member(object, key));
}

std::int64_t Document::Int(const Json& object, const char* key) const {
  return ToInt(Member(object, key));
}

bool Document::Bool(const Json& object, const char* key) const {
  return ToBool(Member(object, key));
}

const Json& Document::List(const Json& object, const char* key) const {
  return ToList(Member(object, key));
}

const Json& Document::Object(const Json& object, const char* key) const {
  const Json& member = Member(object, key);
  if (!member.is_object()) Fail(fmt::format("'{}' is no object", key));
  return member;
}

std::string Document::ToText(const Json& value) const {
  if (!value.is_string()) Fail(Show(value) + " is no text");
  return value.get<std::string>();
}

std::int64_t Document::ToInt(const Json& value) const {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() &&
       value.get<std::uint64_t>() >
           std::uint64_t{std::numeric_limits<std::int64_t>::max()})) {
    Fail(Show(value) + " is no whole number of 64 bits");
  }
  return value.get<std::int64_t>();
}

double Document::ToDouble(const Json& value) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value == "Infinity") return kInfinity;
  if (value == "-Infinity") return -kInfinity;
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) Fail(Show(value) + " is no number");
  return value.get<double>();
}

bool Document::ToBool(const Json& value) const {
  if (!value.is_boolean()) Fail(Show(value) + " is neither true nor false");
  return value.get<bool>();
}

const Json& Document::ToList(const Json& value) const {
  if (!value.is_array()) Fail(Show(value) + " is no list");
  return value;
}

std::pair<std::string, const Json*> Document::ToUnion(const Json& value) const {
  if (!value.is_object() || value.size() != 1) {
    Fail(Show(value) + " is no object with one member");
  }
  return {value.begin().key(), &value.begin().value()};
}

}  // namespace foretell::exported
