#include "src/correct/measured_cells.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/core/document_kind.h"
#include "src/core/json_object.h"
#include "src/core/numbers.h"
#include "src/core/text.h"

namespace foretell {
namespace {

/// A column of --csv and its place in --json.
struct CellPlace {
  const char* column;
  const char* pointer;
};

// The order of docs/measure.md.
constexpr CellPlace kCellPlaces[] = {
    {"model", "/model"},
    {"device", "/device"},
    {"mode", "/mode"},
    {"precision", "/precision"},
    {"optimizer", "/optimizer"},
    {"batch", "/batch"},
    {"status", "/status"},
    {"latency_ms", "/latency/median_ms"},
    {"process_bytes", "/memory/process_bytes"},
    {"energy_j", "/energy/energy_j"},
    {"device_name", "/environment/device_name"},
    {"is_mig", "/environment/is_mig"},
    {"libtorch", "/environment/libtorch"},
    {"autocast", "/environment/autocast"},
    {"grad_mode", "/environment/grad_mode"},
    {"memory_format", "/environment/memory_format"},
};

std::string TextOf(const nlohmann::json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? FormatExact(value.get<double>())
                                 : value.dump();
}

/// "x=f32[8,3,224,224] y=i64[8]".
std::string InputsText(JsonObject& row) {
  std::vector<std::string> texts;
  for (JsonObject& input : row.Objects("inputs")) {
    const auto shape = input.Get<std::vector<std::int64_t>>("shape");
    texts.push_back(fmt::format("{}={}[{}]", input.String("name"),
                                input.String("dtype"), fmt::join(shape, ",")));
  }
  return Joined(texts, " ");
}

}  // namespace

std::vector<MeasuredCells> CellsOfMeasurements(std::string_view json,
                                               const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin, {DocumentKind::kMeasurements});
  JsonObject root(document, origin, "");
  std::vector<JsonObject> rows = root.Objects("measurements");
  std::vector<MeasuredCells> table;
  for (JsonObject& row : rows) {
    const nlohmann::json& value = document["measurements"][table.size()];
    MeasuredCells cells;
    for (const CellPlace& place : kCellPlaces) {
      const nlohmann::json::json_pointer pointer(place.pointer);
      if (value.contains(pointer)) {
        cells[place.column] = TextOf(value.at(pointer));
      }
    }
    if (row.IsGiven("inputs")) cells["inputs"] = InputsText(row);
    table.push_back(std::move(cells));
  }
  return table;
}

}  // namespace foretell
