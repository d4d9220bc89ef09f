#include "src/surrogate/comparison.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/surrogate/model_json.h"

namespace foretell::surrogate {
namespace {

using Json = nlohmann::ordered_json;

/// Of the models whose error is nearly the least, the one of the shortest
/// formula, and the first of these.
std::size_t ShortestGoodOne(const Comparison& comparison,
                            const std::vector<double>& errors) {
  const double least = std::ranges::min(errors);
  std::size_t chosen = 0;
  std::size_t shortest = std::string::npos;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!IsNearlyAsGood(errors[i], least)) continue;
    const FittedModel& one = comparison.models[i];
    const std::size_t length = one.model->Formula(one.columns).size();
    if (length >= shortest) continue;
    shortest = length;
    chosen = i;
  }
  return chosen;
}

std::size_t Choose(const Comparison& comparison, const Table& choosing) {
  if (choosing.rows() == 0) return 0;
  const bool any_formula = std::ranges::any_of(
      comparison.models,
      [](const FittedModel& one) { return HasFormula(one.method); });
  std::vector<double> errors;
  for (const FittedModel& one : comparison.models) {
    const bool counts = HasFormula(one.method) || !any_formula;
    errors.push_back(counts ? JudgeModel(*one.model, choosing).mean
                            : std::numeric_limits<double>::infinity());
  }
  return ShortestGoodOne(comparison, errors);
}

Json FormulaJson(const FittedModel& fitted) {
  const std::string formula = fitted.model->Formula(fitted.columns);
  return formula.empty() ? Json() : Json(formula);
}

Json MethodJson(const FittedModel& fitted, const HeldOutError& error) {
  return {{"method", MethodName(fitted.method)},
          {"error", error.mean},
          {"largest_error", error.largest},
          {"within_1_percent", error.close},
          {"within_1_percent_from",
           error.close_from ? Json(*error.close_from) : Json()},
          {"formula", FormulaJson(fitted)}};
}

Json RangesJson(const FittedModel& fitted) {
  auto ranges = Json::object();
  for (std::size_t i = 0; i < fitted.columns.size(); ++i) {
    ranges[fitted.columns[i]] = {fitted.lowest[i], fitted.highest[i]};
  }
  return ranges;
}

}  // namespace

Comparison Compare(const ComparedRows& rows, const std::vector<Method>& methods,
                   const EvolveOptions& options,
                   const std::function<void(Method)>& on_method) {
  Comparison comparison;
  for (const Method method : methods) {
    if (on_method) on_method(method);
    comparison.models.push_back(FitModel(rows.fitted, method, options));
    comparison.errors.push_back(
        JudgeModel(*comparison.models.back().model, rows.held_out));
  }
  comparison.chosen = Choose(comparison, rows.choosing);
  return comparison;
}

Json ComparisonToJson(const Comparison& comparison, const ComparedRows& rows) {
  const FittedModel& chosen = comparison.models[comparison.chosen];
  Json json = {{"schema_version", kModelSchemaVersion},
               {"target", chosen.target},
               {"rows", rows.fitted.rows()},
               {"choosing_rows", rows.choosing.rows()},
               {"held_out_rows", rows.held_out.rows()},
               {"ranges", RangesJson(chosen)},
               {"method", MethodName(chosen.method)},
               {"formula", FormulaJson(chosen)},
               {"methods", Json::array()},
               {"front", Json::array()}};
  for (std::size_t i = 0; i < comparison.models.size(); ++i) {
    json["methods"].push_back(
        MethodJson(comparison.models[i], comparison.errors[i]));
    if (!comparison.models[i].front.empty()) {
      json["front"] = FrontToJson(comparison.models[i], rows.held_out);
    }
  }
  return json;
}

}  // namespace foretell::surrogate
