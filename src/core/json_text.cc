#include "src/core/json_text.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "src/core/printable.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

void MakePrintable(Json& json) {
  if (json.is_string()) {
    auto& text = json.get_ref<std::string&>();
    text = Printable(text);
  } else if (json.is_array()) {
    for (Json& element : json) MakePrintable(element);
  } else if (json.is_object()) {
    Json object = Json::object();
    for (auto& [name, field] : json.items()) {
      MakePrintable(field);
      object[Printable(name)] = std::move(field);
    }
    json = std::move(object);
  }
}

}  // namespace

std::string DumpJson(Json json, int indent) {
  MakePrintable(json);
  return json.dump(indent);
}

}  // namespace foretell
