#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "foretell/calibration.h"
#include "src/core/json_object.h"
#include "src/core/json_text.h"
#include "src/core/name_table.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;
using Place = CalibratedFactor::Place;

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr int kMostPowers = 64;
constexpr int kMostRuns = 1'000'000;
constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();
constexpr NameTable<3> kPlaces = {"batch", "length", "field"};

std::optional<Place> ParsePlace(std::string_view name) {
  return FindIn<Place>(kPlaces, name);
}

Json FactorJson(const CalibratedFactor& factor) {
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

CalibratedFactor ReadFactor(JsonObject& object) {
  CalibratedFactor factor{.name = object.String("name"),
                          .place = object.Named("place", &ParsePlace),
                          .lowest = object.Number("lowest", 0, kLargest)};
  factor.highest = object.Number("highest", factor.lowest, kLargest);
  if (factor.place == Place::kLength) {
    factor.input = object.String("input");
    factor.dim = object.Int("dim", 0, kMostPowers);
  }
  object.Finish();
  return factor;
}

Json RangeJson(const CalibratedRange& range) {
  return {{"lowest", range.lowest}, {"highest", range.highest}};
}

Json InputJson(const CalibratedInput& input) {
  Json shape = Json::array();
  for (const CalibratedSize& one : input.shape) {
    Json size = Json::object();
    if (one.size) size["size"] = *one.size;
    if (!one.factor.empty()) size["factor"] = one.factor;
    shape.push_back(std::move(size));
  }
  return {{"name", input.name}, {"shape", std::move(shape)}};
}

Json StepJson(const CalibratedStep& step) {
  Json json = {{"operators", RangeJson(step.operators)},
               {"parameters", RangeJson(step.parameters)},
               {"inputs", Json::array()}};
  for (const CalibratedInput& input : step.inputs) {
    json["inputs"].push_back(InputJson(input));
  }
  return json;
}

CalibratedRange ReadRange(JsonObject object) {
  CalibratedRange range;
  range.lowest = object.Int("lowest", 0, kMostCount);
  range.highest = object.Int("highest", range.lowest, kMostCount);
  object.Finish();
  return range;
}

CalibratedSize ReadSize(JsonObject& object, const Calibration& calibration) {
  CalibratedSize size;
  if (object.IsGiven("size")) size.size = object.Int("size", 0, kMostCount);
  if (object.IsGiven("factor")) {
    size.factor = object.String("factor");
    const bool is_one = std::ranges::count(calibration.factors, size.factor,
                                           &CalibratedFactor::name) > 0;
    if (!is_one) {
      object.Fail(
          "factor",
          fmt::format("is '{}', which is not one of the factors", size.factor));
    }
  }
  object.Finish();
  return size;
}

CalibratedStep ReadStep(JsonObject object, const Calibration& calibration) {
  CalibratedStep step{.inputs = {},
                      .operators = ReadRange(object.Object("operators")),
                      .parameters = ReadRange(object.Object("parameters"))};
  for (JsonObject& input : object.Objects("inputs")) {
    CalibratedInput read{.name = input.String("name"), .shape = {}};
    for (JsonObject& size : input.Objects("shape")) {
      read.shape.push_back(ReadSize(size, calibration));
    }
    input.Finish();
    step.inputs.push_back(std::move(read));
  }
  object.Finish();
  return step;
}

GapTerm ReadTerm(JsonObject& object, std::size_t factors) {
  GapTerm term{object.Number("coefficient", -kLargest, kLargest),
               object.Ints("powers", 0, kMostPowers)};
  if (term.powers.size() != factors) {
    object.Fail("powers", fmt::format("has {} numbers, expected {}",
                                      term.powers.size(), factors));
  }
  object.Finish();
  return term;
}

}  // namespace

std::string CalibrationToJson(const Calibration& calibration) {
  Json json = {{"format", kCalibrationFormat},
               {"schema_version", kCalibrationSchemaVersion},
               {"model", calibration.model},
               {"measured_on", calibration.measured_on},
               {"device", calibration.device},
               {"environment", calibration.context},
               {"run", Json::parse(RunToJson(calibration.run))},
               {"runs", calibration.runs},
               {"error_left_out", calibration.error_left_out},
               {"largest_error_left_out", calibration.largest_error_left_out},
               {"factors", Json::array()},
               {"gap_mib", Json::array()}};
  for (const CalibratedFactor& factor : calibration.factors) {
    json["factors"].push_back(FactorJson(factor));
  }
  for (const GapTerm& term : calibration.gap) {
    json["gap_mib"].push_back(
        {{"coefficient", term.coefficient}, {"powers", term.powers}});
  }
  if (calibration.step) json["step"] = StepJson(*calibration.step);
  return DumpJson(std::move(json)) + "\n";
}

Calibration CalibrationFromJson(std::string_view json,
                                const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  JsonObject root(document, origin, "");
  root.RequireSchemaVersion(kCalibrationSchemaVersion);
  root.String("format");
  Calibration calibration{
      .origin = origin,
      .model = root.String("model"),
      .measured_on = root.String("measured_on"),
      .device = root.String("device"),
      .context = root.String("environment"),
      .runs = static_cast<int>(root.Int("runs", 1, kMostRuns)),
      .error_left_out = root.Number("error_left_out", 0, kLargest),
      .largest_error_left_out =
          root.Number("largest_error_left_out", 0, kLargest)};
  root.Object("run");  // Its own reader reports errors in its fields.
  calibration.run = RunFromJson(document.at("run").dump(), origin + ": run");
  for (JsonObject& factor : root.Objects("factors")) {
    calibration.factors.push_back(ReadFactor(factor));
  }
  for (JsonObject& term : root.Objects("gap_mib")) {
    calibration.gap.push_back(ReadTerm(term, calibration.factors.size()));
  }
  if (root.IsGiven("step")) {
    calibration.step = ReadStep(root.Object("step"), calibration);
  }
  root.Finish();
  return calibration;
}

}  // namespace foretell
