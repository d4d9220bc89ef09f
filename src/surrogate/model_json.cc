#include "src/surrogate/model_json.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "src/core/document_kind.h"
#include "src/core/json_fields.h"
#include "src/core/json_text.h"
#include "src/surrogate/bent_sum.h"
#include "src/surrogate/forest.h"
#include "src/surrogate/network_model.h"

namespace foretell::surrogate {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
std::unique_ptr<Model> Make() {
  return std::make_unique<T>();
}

/// Makers of a default model by Method.
constexpr std::array kMakers = {
    &Make<PowerSum>, &Make<PowerSum>, &Make<PowerSum>,    &Make<BentSum>,
    &Make<Forest>,   &Make<Forest>,   &Make<NetworkModel>};

void DescribeColumns(JsonFields& fields, FittedModel& fitted) {
  constexpr double kMost = std::numeric_limits<double>::max();
  std::vector<std::size_t> places(fitted.columns.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  fields.Objects("columns", places, [&](JsonFields& in, std::size_t& place) {
    if (in.IsReading()) {
      place = fitted.columns.size();
      fitted.columns.emplace_back();
      fitted.lowest.emplace_back();
      fitted.highest.emplace_back();
    }
    in.Text("name", fitted.columns[place]);
    in.Number("lowest", fitted.lowest[place], -kMost, kMost);
    in.Number("highest", fitted.highest[place], fitted.lowest[place], kMost);
  });
}

void DescribeFitted(JsonFields& fields, FittedModel& fitted) {
  fields.SchemaVersion(kModelSchemaVersion);
  fields.Named("method", fitted.method, &MethodName, &ParseMethod);
  fields.Text("target", fitted.target);
  fields.Int("rows", fitted.rows, 1, std::numeric_limits<int>::max());
  DescribeColumns(fields, fitted);
  fields.Derived("formula", [&] {
    const std::string formula = fitted.model->Formula(fitted.columns);
    return formula.empty() ? Json(nullptr) : Json(formula);
  });
  if (fields.IsReading()) {
    fitted.model = kMakers[static_cast<std::size_t>(fitted.method)]();
  }
  fields.Object("model", [&](JsonFields& in) {
    fitted.model->Describe(in, fitted.columns.size());
  });
}

}  // namespace

std::string FittedToJson(const FittedModel& fitted) {
  return DumpJson(WriteFields(fitted, &DescribeFitted), kOneLine) + "\n";
}

FittedModel FittedFromJson(std::string_view json, const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin, {DocumentKind::kFormula});
  return ReadFields<FittedModel>(JsonObject(document, origin, ""),
                                 &DescribeFitted);
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
