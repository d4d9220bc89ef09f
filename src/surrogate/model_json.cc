#include "src/surrogate/model_json.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/core/document_kind.h"
#include "src/core/json_object.h"
#include "src/core/json_text.h"
#include "src/surrogate/bent_sum.h"
#include "src/surrogate/forest.h"
#include "src/surrogate/network_model.h"

namespace foretell::surrogate {
namespace {

using ReadModel = std::unique_ptr<Model> (*)(JsonObject, std::size_t);

/// Readers by Method.
constexpr std::array<ReadModel, 7> kReaders = {
    &PowerSum::FromJson,    &PowerSum::FromJson, &PowerSum::FromJson,
    &BentSum::FromJson,     &Forest::FromJson,   &Forest::FromJson,
    &NetworkModel::FromJson};

nlohmann::ordered_json ColumnsJson(const FittedModel& fitted) {
  auto columns = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < fitted.columns.size(); ++i) {
    columns.push_back({{"name", fitted.columns[i]},
                       {"lowest", fitted.lowest[i]},
                       {"highest", fitted.highest[i]}});
  }
  return columns;
}

void ReadColumn(JsonObject& object, FittedModel& fitted) {
  constexpr double kMost = std::numeric_limits<double>::max();
  fitted.columns.push_back(object.String("name"));
  fitted.lowest.push_back(object.Number("lowest", -kMost, kMost));
  fitted.highest.push_back(
      object.Number("highest", fitted.lowest.back(), kMost));
  object.Finish();
}

}  // namespace

std::string FittedToJson(const FittedModel& fitted) {
  nlohmann::ordered_json json = {{"schema_version", kModelSchemaVersion},
                                 {"method", MethodName(fitted.method)},
                                 {"target", fitted.target},
                                 {"rows", fitted.rows},
                                 {"columns", ColumnsJson(fitted)},
                                 {"formula", nullptr},
                                 {"model", fitted.model->ToJson()}};
  const std::string formula = fitted.model->Formula(fitted.columns);
  if (!formula.empty()) json["formula"] = formula;
  return DumpJson(std::move(json), kOneLine) + "\n";
}

FittedModel FittedFromJson(std::string_view json, const std::string& origin) {
  constexpr int kMostRows = std::numeric_limits<int>::max();
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin, {DocumentKind::kFormula});
  JsonObject root(document, origin, "");
  root.RequireSchemaVersion(kModelSchemaVersion);
  FittedModel fitted{.method = root.Named("method", &ParseMethod),
                     .target = root.String("target"),
                     .rows = static_cast<int>(root.Int("rows", 1, kMostRows))};
  for (JsonObject& column : root.Objects("columns")) {
    ReadColumn(column, fitted);
  }
  root.Has("formula");  // The model has its content.
  fitted.model = kReaders[static_cast<std::size_t>(fitted.method)](
      root.Object("model"), fitted.columns.size());
  root.Finish();
  return fitted;
}

nlohmann::ordered_json FrontToJson(const FittedModel& fitted,
                                   const Table& held_out) {
  auto front = nlohmann::ordered_json::array();
  for (const SizedFormula& one : fitted.front) {
    front.push_back(
        {{"size", one.size},
         {"error", one.error},
         {"expected_error", std::isfinite(one.expected_error)
                                ? nlohmann::ordered_json(one.expected_error)
                                : nlohmann::ordered_json()},
         {"held_out_error", JudgeModel(one.formula, held_out).mean},
         {"formula", one.formula.Formula(fitted.columns)}});
  }
  return front;
}

}  // namespace foretell::surrogate
