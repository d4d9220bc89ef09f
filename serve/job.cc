#include "serve/job.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "src/core/failure.h"
#include "src/core/parse_json.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"

namespace foretell::serve {
namespace {

using nlohmann::json;

constexpr std::string_view kZoo = "zoo:";

/// Text, numbers and truth values as they are written on a command line.
std::string ValueText(const std::string& name, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return value.dump();
  throw InvalidArgument("options.{}: expected text, a number, true or false",
                        name);
}

Settings SettingsOf(const json& object) {
  if (!object.is_object()) throw InvalidArgument("options: expected an object");
  Settings settings;
  for (const auto& [name, value] : object.items()) {
    if (!value.is_array()) {
      settings.emplace_back(name, ValueText(name, value));
      continue;
    }
    for (const json& one : value) {
      settings.emplace_back(name, ValueText(name, one));
    }
  }
  return settings;
}

bool IsOfKind(const ServedFlag& flag, const std::string& value) {
  switch (flag.kind) {
    case ValueKind::kFlag:
      return value == "true" || value == "false";
    case ValueKind::kWhole:
      return ParseNumber<std::int64_t>(value).has_value();
    case ValueKind::kNumber:
      return ParseNumber<double>(value).has_value();
    case ValueKind::kText:
    case ValueKind::kAmount:  // The command knows the units.
      break;
  }
  return true;
}

const ServedFlag& FindFlag(const ServedCommand& command,
                           const std::string& name) {
  const auto found = std::ranges::find(command.flags, name, &ServedFlag::name);
  if (found != command.flags.end()) return *found;
  std::vector<std::string> names;
  for (const ServedFlag& flag : command.flags) names.push_back(flag.name);
  throw InvalidArgument("option '{}': unknown to {}; there are {}", name,
                        command.route, Joined(names));
}

void AddSetting(const ServedFlag& flag, const std::string& value, Job& job) {
  if (!IsOfKind(flag, value)) {
    static constexpr const char* kKinds[] = {"true or false", "text",
                                             "a whole number", "a number"};
    throw InvalidArgument("option '{}': '{}' is not {}", flag.name, value,
                          kKinds[static_cast<int>(flag.kind)]);
  }
  if (flag.kind == ValueKind::kFlag) {
    if (value == "true") job.words.push_back(flag.flag);
    return;
  }
  // As one word, so that no value is mistaken for a flag.
  job.words.push_back(fmt::format("{}={}", flag.flag, value));
}

void AddSettings(const ServedCommand& command, const Settings& settings,
                 Job& job) {
  std::set<const ServedFlag*> given;
  for (const auto& [name, value] : settings) {
    const ServedFlag& flag = FindFlag(command, name);
    if (!given.insert(&flag).second && !flag.is_list) {
      throw InvalidArgument("option '{}': given more than once", name);
    }
    AddSetting(flag, value, job);
  }
}

}  // namespace

Settings ReadSettings(std::string_view text) {
  return SettingsOf(ParseJson(text, "options"));
}

Request ReadJsonRequest(std::string_view body) {
  const json document = ParseJson(body, "request");
  if (!document.is_object()) {
    throw InvalidArgument("request: expected an object");
  }
  Request request;
  for (const auto& [name, value] : document.items()) {
    if (name == "options") {
      request.settings = SettingsOf(value);
    } else if (name == "model" && value.is_string()) {
      request.zoo.push_back(value);
    } else if (name == "models" && value.is_array()) {
      for (const json& one : value) request.zoo.push_back(ValueText(name, one));
    } else {
      throw InvalidArgument(
          "request.{0}: expected model (text), models (a list) and options (an "
          "object); put an option under options: {{\"options\": {{\"{0}\": "
          "…}}}}",
          name);
    }
  }
  return request;
}

Job MakeJob(const ServedCommand& command, Request request) {
  Job job{.words = command.words, .files = std::move(request.files)};
  for (const std::string& name : request.zoo) {
    if (!name.starts_with(kZoo)) {
      throw InvalidArgument(
          "model '{}': not a zoo network ({}NAME); send a file as the body, or "
          "as multipart/form-data",
          name, kZoo);
    }
    job.words.push_back(name);
  }
  for (std::size_t i = 0; i < job.files.size(); ++i) {
    job.words.push_back(FileWord(i));
  }
  const std::size_t models = request.zoo.size() + job.files.size();
  if (models == 0 && command.needs_model) {
    throw InvalidArgument("request: has no model");
  }
  if (models > 1 && !command.takes_many) {
    throw InvalidArgument("request: {} accepts one model, got {}",
                          command.route, models);
  }
  AddSettings(command, request.settings, job);
  job.words.insert(job.words.end(), command.json.begin(), command.json.end());
  return job;
}

}  // namespace foretell::serve
