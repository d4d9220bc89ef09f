#include "src/core/json_text.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/printable.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

void MakePrintable(Json& value) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    text = Printable(text);
  } else if (value.is_array()) {
    for (Json& element : value) MakePrintable(element);
  } else if (value.is_object()) {
    Json object = Json::object();
    for (auto& [name, field] : value.items()) {
      MakePrintable(field);
      object[Printable(name)] = std::move(field);
    }
    value = std::move(object);
  }
}

}  // namespace

std::string DumpJson(Json document, int indent) {
  MakePrintable(document);
  return document.dump(indent);
}

nlohmann::ordered_json JsonNumber(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

}  // namespace foretell
