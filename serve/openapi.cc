#include "serve/openapi.h"

#include <nlohmann/json.hpp>

#include "foretell/version.h"
#include "serve/routes.h"
#include "src/core/json_text.h"

namespace foretell::serve {
namespace {

using Json = nlohmann::ordered_json;

Json SchemaOf(const ServedFlag& flag) {
  static const Json kTypes[] = {"boolean", "string", "integer", "number",
                                Json::array({"number", "string"})};
  Json value = {{"type", kTypes[static_cast<int>(flag.kind)]}};
  if (!flag.choices.empty()) value["enum"] = flag.choices;
  Json schema = value;
  if (flag.is_list) {
    schema = {{"oneOf", {value, {{"type", "array"}, {"items", value}}}}};
  }
  schema["description"] = flag.description;
  if (!flag.default_text.empty()) schema["default"] = flag.default_text;
  return schema;
}

Json OptionsOf(const ServedCommand& command) {
  Json properties = Json::object();
  for (const ServedFlag& flag : command.flags) {
    properties[flag.name] = SchemaOf(flag);
  }
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties", properties}};
}

Json BodyOf(const ServedCommand& command) {
  const Json zoo = {{"type", "string"}, {"pattern", "^zoo:"}};
  const Json binary = {{"type", "string"}, {"format", "binary"}};
  Json content;
  content["application/json"]["schema"] = {
      {"type", "object"},
      {"properties",
       {{"model", zoo},
        {"models", {{"type", "array"}, {"items", zoo}}},
        {"options", OptionsOf(command)}}}};
  content["application/octet-stream"]["schema"] = binary;
  content["multipart/form-data"]["schema"] = {
      {"type", "object"},
      {"properties",
       {{"model", {{"type", "array"}, {"items", binary}}},
        {"options", OptionsOf(command)}}}};
  return {{"required", true}, {"content", content}};
}

/// The options again, for a body that is only a file.
Json QueryOf(const ServedCommand& command) {
  Json parameters = Json::array();
  for (const ServedFlag& flag : command.flags) {
    parameters.push_back({{"name", flag.name},
                          {"in", "query"},
                          {"required", false},
                          {"schema", SchemaOf(flag)}});
  }
  return parameters;
}

Json Responses() {
  const auto described = [](const char* text) {
    return Json{{"description", text}};
  };
  return {{"200", described("The command's JSON document")},
          {"400", described("The request is invalid")},
          {"401", described("The token is missing or wrong")},
          {"413", described("The body is larger than allowed")},
          {"415", described("The content encoding is not supported")},
          {"422", described("A model failed; body as for 200")},
          {"429", described("Too many waiting requests")},
          {"500", described("A bug, or a worker died")},
          {"504", described("The time limit was exceeded")}};
}

}  // namespace

std::string OpenApi(const std::vector<ServedCommand>& commands) {
  Json document = {{"openapi", "3.1.0"},
                   {"info", {{"title", "foretell"}, {"version", kVersion}}}};
  Json& paths = document["paths"];
  for (const ServedCommand& command : commands) {
    paths[command.route]["post"] = {{"summary", command.summary},
                                    {"parameters", QueryOf(command)},
                                    {"requestBody", BodyOf(command)},
                                    {"responses", Responses()}};
  }
  for (const RouteInfo& route : RoutesOf(commands)) {
    if (route.method != "GET") continue;
    Json& get = paths[route.path]["get"];
    get["summary"] = route.summary;
    get["responses"]["200"]["description"] = "State";
  }
  document["components"]["securitySchemes"]["token"] = {{"type", "http"},
                                                        {"scheme", "bearer"}};
  return DumpJson(document) + "\n";
}

}  // namespace foretell::serve
