#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "foretell/correction.h"
#include "src/core/document_kind.h"
#include "src/core/json_object.h"
#include "src/core/json_text.h"
#include "src/predict/correction_scope_json.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOfAnyModel = "adaptation";
constexpr std::string_view kOfOneModel = "calibration";

// Far beyond what any row can show, and small enough for exp().
constexpr double kLargestLog = 20;
constexpr double kLargestMib = 1e6;
constexpr double kLargestRate = 1e30;
constexpr double kLargestHostFactor = 1e3;
constexpr int kMostRows = 1'000'000'000;
constexpr int kMostPowers = 64;
constexpr double kLargest = std::numeric_limits<double>::max();

Json ErrorsJson(const RowErrors& errors) {
  return {{"median", errors.median}, {"mean", errors.mean}};
}

Json FigureJson(const CorrectedFigure& figure) {
  return {{"rows", figure.rows},
          {"error_before", ErrorsJson(figure.before)},
          {"error_after", ErrorsJson(figure.after)},
          {"largest_residual", figure.largest_residual},
          {"half_width", figure.half_width ? Json(*figure.half_width) : Json()},
          {"corrects", figure.corrects}};
}

Json HostJson(const HostSpec& host) {
  return {{"name", host.IsNamed() ? Json(host.name) : Json()},
          {"factor", host.factor},
          {"spread", host.spread}};
}

HostSpec ReadHost(JsonObject object) {
  HostSpec host{.factor = object.Number("factor", 1 / kLargestHostFactor,
                                        kLargestHostFactor),
                .spread = object.Number("spread", 1, kLargestHostFactor)};
  object.Read("name", host.name);
  object.Finish();
  return host;
}

RowErrors ReadErrors(JsonObject object) {
  const RowErrors errors{.median = object.Number("median", 0, kLargest),
                         .mean = object.Number("mean", 0, kLargest)};
  object.Finish();
  return errors;
}

CorrectedFigure ReadFigure(JsonObject& object) {
  CorrectedFigure figure{
      .rows = static_cast<int>(object.Int("rows", 1, kMostRows)),
      .before = ReadErrors(object.Object("error_before")),
      .after = ReadErrors(object.Object("error_after")),
      .largest_residual = object.Number("largest_residual", 0, kLargestLog),
      .corrects = object.Strings("corrects")};
  if (object.IsGiven("half_width")) {
    figure.half_width = object.Number("half_width", 0, kLargestLog);
  }
  return figure;
}

void ReadLatency(JsonObject object, Correction& correction) {
  CorrectionTerms& terms = correction.terms;
  const auto rate = [&object](const char* key) {
    return object.Number(key, 1 / kLargestRate, kLargestRate);
  };
  terms.level = object.Number("level", -kLargestLog, kLargestLog);
  terms.exponent = object.Number("exponent", -kLargestLog, kLargestLog);
  terms.reference_rate = rate("reference_rate");
  terms.lowest_rate = rate("lowest_rate");
  terms.highest_rate = rate("highest_rate");
  if (terms.lowest_rate > terms.highest_rate) {
    object.Fail("lowest_rate",
                fmt::format("is {}, above the highest_rate {}",
                            terms.lowest_rate, terms.highest_rate));
  }
  correction[Target::kLatency] = ReadFigure(object);
  object.Finish();
}

void ReadOthers(JsonObject& root, Correction& correction) {
  if (root.IsGiven("memory")) {
    JsonObject memory = root.Object("memory");
    correction.terms.memory_mib =
        memory.Number("constant_mib", -kLargestMib, kLargestMib);
    correction[Target::kMemory] = ReadFigure(memory);
    memory.Finish();
  }
  if (root.IsGiven("energy")) {
    JsonObject energy = root.Object("energy");
    correction.terms.energy_level =
        energy.Number("level", -kLargestLog, kLargestLog);
    correction[Target::kEnergy] = ReadFigure(energy);
    energy.Finish();
  }
}

void ReadFigures(JsonObject& root, Correction& correction) {
  correction.rows = static_cast<int>(root.Int("rows", 1, kMostRows));
  correction.networks = static_cast<int>(root.Int("networks", 1, kMostRows));
  correction.terms.host = ReadHost(root.Object("host"));
  if (root.IsGiven("latency")) ReadLatency(root.Object("latency"), correction);
  ReadOthers(root, correction);
}

Json FiguresJson(const Correction& correction) {
  const CorrectionTerms& terms = correction.terms;
  Json json = {{"rows", correction.rows},
               {"networks", correction.networks},
               {"host", HostJson(terms.host)}};
  const auto add = [&](Target target, const char* name, Json values) {
    if (!correction[target]) return;
    values.update(FigureJson(*correction[target]));
    json[name] = std::move(values);
  };
  add(Target::kLatency, "latency",
      {{"level", terms.level},
       {"exponent", terms.exponent},
       {"reference_rate", terms.reference_rate},
       {"lowest_rate", terms.lowest_rate},
       {"highest_rate", terms.highest_rate}});
  add(Target::kMemory, "memory", {{"constant_mib", terms.memory_mib}});
  add(Target::kEnergy, "energy", {{"level", terms.energy_level}});
  return json;
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

void ReadGap(JsonObject& root, Correction& correction) {
  correction.rows = static_cast<int>(root.Int("runs", 1, kMostRows));
  correction.networks = 1;
  correction[Target::kMemory] = CorrectedFigure::OfOneModel(
      correction.rows, root.Number("error_left_out", 0, kLargest),
      root.Number("largest_error_left_out", 0, kLargest));
  for (JsonObject& term : root.Objects("gap_mib")) {
    correction.terms.gap.push_back(
        ReadTerm(term, correction.scope.factors.size()));
  }
}

Json GapJson(const Correction& correction) {
  const CorrectedFigure& memory = *correction[Target::kMemory];
  Json json = {{"runs", correction.rows},
               {"error_left_out", memory.after.mean},
               {"largest_error_left_out", std::expm1(memory.largest_residual)},
               {"gap_mib", Json::array()}};
  for (const GapTerm& term : correction.terms.gap) {
    json["gap_mib"].push_back(
        {{"coefficient", term.coefficient}, {"powers", term.powers}});
  }
  return json;
}

bool ReadIsOfOneModel(JsonObject& root) {
  if (!root.IsGiven("format")) return false;
  const std::string format = root.String("format");
  if (format != kOfAnyModel && format != kOfOneModel) {
    root.Fail("format", fmt::format("is '{}', expected '{}' or '{}'", format,
                                    kOfAnyModel, kOfOneModel));
  }
  return format == kOfOneModel;
}

}  // namespace

CorrectedFigure CorrectedFigure::OfOneModel(int runs, double mean_error,
                                            double largest_error) {
  const double width = std::log1p(largest_error);
  return {.rows = runs,
          .after = {.mean = mean_error},
          .largest_residual = width,
          .half_width = width,
          .corrects = {FigureSource{}.method}};
}

std::string CorrectionToJson(const Correction& correction) {
  const bool of_one_model = correction.scope.IsOfOneModel();
  Json json = {{"format", of_one_model ? kOfOneModel : kOfAnyModel},
               {"schema_version", kCorrectionSchemaVersion}};
  json.update(ScopeToJson(correction.scope));
  json["run"] = Json::parse(RunToJson(correction.scope.run));
  json.update(of_one_model ? GapJson(correction) : FiguresJson(correction));
  return DumpJson(std::move(json)) + "\n";
}

Correction CorrectionFromJson(std::string_view json,
                              const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin, {DocumentKind::kCorrection});
  JsonObject root(document, origin, "");
  const bool of_one_model = ReadIsOfOneModel(root);
  root.RequireSchemaVersion(kCorrectionSchemaVersion);
  Correction correction{.origin = origin,
                        .scope = ReadScope(root, of_one_model)};
  root.Object("run");  // Its own reader reports errors in its fields.
  correction.scope.run =
      RunFromJson(document.at("run").dump(), origin + ": run");
  (of_one_model ? ReadGap : ReadFigures)(root, correction);
  root.Finish();
  return correction;
}

}  // namespace foretell
