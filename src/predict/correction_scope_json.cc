#include "src/predict/correction_scope_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "src/core/json_object.h"
#include "src/core/json_text.h"
#include "src/core/name_table.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;
using Place = ScopeFactor::Place;

constexpr double kLargestValue = std::numeric_limits<double>::max();
constexpr int kMostDims = 64;
constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();
constexpr NameTable<3> kPlaces = {"batch", "length", "field"};

std::optional<Place> ParsePlace(std::string_view name) {
  return FindIn<Place>(kPlaces, name);
}

Json FactorJson(const ScopeFactor& factor) {
  Json json = {{"name", factor.name},
               {"place", NameIn(kPlaces, factor.place)},
               {"lowest", factor.lowest},
               {"highest", factor.highest}};
  if (factor.place == Place::kLength) {
    json["input"] = factor.input;
    json["dim"] = factor.dim;
  }
  return json;
}

ScopeFactor ReadFactor(JsonObject& object) {
  ScopeFactor factor{.name = object.String("name"),
                     .place = object.Named("place", &ParsePlace),
                     .lowest = object.Number("lowest", 0, kLargestValue)};
  factor.highest = object.Number("highest", factor.lowest, kLargestValue);
  if (factor.place == Place::kLength) {
    factor.input = object.String("input");
    factor.dim = object.Int("dim", 0, kMostDims);
  }
  object.Finish();
  return factor;
}

Json RangeJson(const ScopeRange& range) {
  return {{"lowest", range.lowest}, {"highest", range.highest}};
}

Json InputJson(const ScopeInput& input) {
  Json shape = Json::array();
  for (const ScopeSize& one : input.shape) {
    Json size = Json::object();
    if (one.size) size["size"] = *one.size;
    if (!one.factor.empty()) size["factor"] = one.factor;
    shape.push_back(std::move(size));
  }
  return {{"name", input.name}, {"shape", std::move(shape)}};
}

Json StepJson(const ScopeStep& step) {
  Json json = {{"operators", RangeJson(step.operators)},
               {"parameters", RangeJson(step.parameters)},
               {"inputs", Json::array()}};
  for (const ScopeInput& input : step.inputs) {
    json["inputs"].push_back(InputJson(input));
  }
  return json;
}

ScopeRange ReadRange(JsonObject object) {
  ScopeRange range;
  range.lowest = object.Int("lowest", 0, kMostCount);
  range.highest = object.Int("highest", range.lowest, kMostCount);
  object.Finish();
  return range;
}

ScopeSize ReadSize(JsonObject& object,
                   const std::vector<ScopeFactor>& factors) {
  ScopeSize size;
  if (object.IsGiven("size")) size.size = object.Int("size", 0, kMostCount);
  if (object.IsGiven("factor")) {
    size.factor = object.String("factor");
    const bool is_one =
        std::ranges::count(factors, size.factor, &ScopeFactor::name) > 0;
    if (!is_one) {
      object.Fail(
          "factor",
          fmt::format("is '{}', which is not one of the factors", size.factor));
    }
  }
  object.Finish();
  return size;
}

ScopeStep ReadStep(JsonObject object, const std::vector<ScopeFactor>& factors) {
  ScopeStep step{.inputs = {},
                 .operators = ReadRange(object.Object("operators")),
                 .parameters = ReadRange(object.Object("parameters"))};
  for (JsonObject& input : object.Objects("inputs")) {
    ScopeInput read{.name = input.String("name"), .shape = {}};
    for (JsonObject& size : input.Objects("shape")) {
      read.shape.push_back(ReadSize(size, factors));
    }
    input.Finish();
    step.inputs.push_back(std::move(read));
  }
  object.Finish();
  return step;
}

}  // namespace

Json ScopeToJson(const CorrectionScope& scope) {
  Json json = Json::object();
  if (scope.IsOfOneModel()) {
    json = {{"model", scope.model},
            {"measured_on", scope.measured_on},
            {"factors", Json::array()}};
    for (const ScopeFactor& factor : scope.factors) {
      json["factors"].push_back(FactorJson(factor));
    }
    if (scope.step) json["step"] = StepJson(*scope.step);
  }
  json["device"] = scope.device;
  json["environment"] = scope.context;
  return json;
}

CorrectionScope ReadScope(JsonObject& root, bool of_one_model) {
  CorrectionScope scope{.device = root.String("device"),
                        .context = root.String("environment")};
  if (!of_one_model) return scope;
  scope.model = root.String("model");
  scope.measured_on = root.String("measured_on");
  for (JsonObject& factor : root.Objects("factors")) {
    scope.factors.push_back(ReadFactor(factor));
  }
  if (root.IsGiven("step")) {
    scope.step = ReadStep(root.Object("step"), scope.factors);
  }
  return scope;
}

}  // namespace foretell
