#include "src/measure/json_values.h"

#include "foretell/error.h"

namespace foretell::measure {

Json FieldJson(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

void RefuseName(const char* key, const std::string& text) {
  throw Error(ErrorCode::kCorrupt,
              std::string(key) + ": unknown name '" + text + "'");
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

std::vector<BoundInput> InputsFromJson(const Json& list) {
  std::vector<BoundInput> inputs;
  for (const Json& entry : list) {
    BoundInput input;
    Read(entry, "name", input.name);
    ReadName(entry, "dtype", &ParseDType, input.type.dtype);
    Read(entry, "shape", input.type.shape);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Json ParseObject(std::string_view text, const std::string& what) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) RefuseJson(what, "not a JSON object");
  return json;
}

void RefuseJson(const std::string& what, const std::string& why) {
  throw Error(ErrorCode::kCorrupt, what + ": " + why);
}

}  // namespace foretell::measure
