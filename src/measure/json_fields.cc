#include "src/measure/json_fields.h"

#include <utility>

namespace foretell::measure {

Json FieldJson(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json InputsToJson(const std::vector<BoundInput>& inputs) {
  Json list = Json::array();
  for (const BoundInput& input : inputs) {
    list.push_back({{"name", input.name},
                    {"dtype", DTypeName(input.type.dtype)},
                    {"shape", input.type.shape}});
  }
  return list;
}

std::vector<BoundInput> ReadInputs(JsonObject& object) {
  std::vector<BoundInput> inputs;
  if (!object.IsGiven("inputs")) return inputs;
  for (JsonObject& entry : object.Objects("inputs")) {
    BoundInput input;
    entry.Read("name", input.name);
    entry.ReadNamed("dtype", &ParseDType, input.type.dtype);
    entry.Read("shape", input.type.shape);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace foretell::measure
