#include "src/core/plain_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace foretell {
namespace {

using Kind = PlainValue::Kind;

PlainId AddJson(const nlohmann::json& source, PlainData& data) {
  PlainValue value;
  if (source.is_number_integer()) {
    value = {.kind = Kind::kInt, .number = source.get<std::int64_t>()};
  } else if (source.is_string()) {
    value = {.kind = Kind::kText, .text = source.get_ref<const std::string&>()};
  } else if (source.is_structured()) {
    value.kind = source.is_array() ? Kind::kList : Kind::kDict;
    for (auto item = source.begin(); item != source.end(); ++item) {
      if (source.is_object()) {
        value.items.push_back(static_cast<PlainId>(data.values.size()));
        data.values.push_back({.kind = Kind::kText, .text = item.key()});
      }
      value.items.push_back(AddJson(*item, data));
    }
  }
  data.values.push_back(std::move(value));
  return static_cast<PlainId>(data.values.size() - 1);
}

}  // namespace

const PlainValue* PlainData::Find(const PlainValue& dict,
                                  std::string_view key) const {
  constexpr std::size_t kMostItems = 2 * 64;
  if (dict.kind != Kind::kDict) return nullptr;
  const std::size_t end = std::min(dict.items.size(), kMostItems);
  for (std::size_t i = 0; i + 1 < end; i += 2) {
    const PlainValue& name = values[dict.items[i]];
    if (name.kind == Kind::kText && name.text == key) {
      return &values[dict.items[i + 1]];
    }
  }
  return nullptr;
}

PlainData PlainDataOf(const nlohmann::json& json) {
  PlainData data;
  data.root = AddJson(json, data);
  return data;
}

}  // namespace foretell
