#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "foretell/adaptation.h"
#include "src/core/json_object.h"
#include "src/core/json_text.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

// Far beyond what any row can show, and small enough for exp().
constexpr double kLargestLog = 20;
constexpr double kLargestMib = 1e6;
constexpr double kLargestRate = 1e30;
constexpr double kLargestHostFactor = 1e3;
constexpr int kMostRows = 1'000'000'000;

Json ErrorsJson(const RowErrors& errors) {
  return {{"median", errors.median}, {"mean", errors.mean}};
}

Json FigureJson(const AdaptedFigure& figure) {
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
  constexpr double kMost = std::numeric_limits<double>::max();
  const RowErrors errors{.median = object.Number("median", 0, kMost),
                         .mean = object.Number("mean", 0, kMost)};
  object.Finish();
  return errors;
}

AdaptedFigure ReadFigure(JsonObject& object) {
  AdaptedFigure figure{
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

void ReadLatency(JsonObject object, Adaptation& adaptation) {
  const auto rate = [&object](const char* key) {
    return object.Number(key, 1 / kLargestRate, kLargestRate);
  };
  adaptation.level = object.Number("level", -kLargestLog, kLargestLog);
  adaptation.exponent = object.Number("exponent", -kLargestLog, kLargestLog);
  adaptation.reference_rate = rate("reference_rate");
  adaptation.lowest_rate = rate("lowest_rate");
  adaptation.highest_rate = rate("highest_rate");
  if (adaptation.lowest_rate > adaptation.highest_rate) {
    object.Fail("lowest_rate",
                fmt::format("is {}, above the highest_rate {}",
                            adaptation.lowest_rate, adaptation.highest_rate));
  }
  adaptation[Target::kLatency] = ReadFigure(object);
  object.Finish();
}

void ReadOthers(JsonObject& root, Adaptation& adaptation) {
  if (root.IsGiven("memory")) {
    JsonObject memory = root.Object("memory");
    adaptation.memory_mib =
        memory.Number("constant_mib", -kLargestMib, kLargestMib);
    adaptation[Target::kMemory] = ReadFigure(memory);
    memory.Finish();
  }
  if (root.IsGiven("energy")) {
    JsonObject energy = root.Object("energy");
    adaptation.energy_level = energy.Number("level", -kLargestLog, kLargestLog);
    adaptation[Target::kEnergy] = ReadFigure(energy);
    energy.Finish();
  }
}

Json LatencyDocument(const Adaptation& a) {
  Json json = {{"level", a.level},
               {"exponent", a.exponent},
               {"reference_rate", a.reference_rate},
               {"lowest_rate", a.lowest_rate},
               {"highest_rate", a.highest_rate}};
  json.update(FigureJson(*a[Target::kLatency]));
  return json;
}

Json ConstantDocument(const char* name, double value,
                      const AdaptedFigure& figure) {
  Json json = {{name, value}};
  json.update(FigureJson(figure));
  return json;
}

}  // namespace

std::string AdaptationToJson(const Adaptation& adaptation) {
  Json json = {{"format", kAdaptationFormat},
               {"schema_version", kAdaptationSchemaVersion},
               {"device", adaptation.device},
               {"environment", adaptation.context},
               {"run", Json::parse(RunToJson(adaptation.run))},
               {"rows", adaptation.rows},
               {"networks", adaptation.networks},
               {"host", HostJson(adaptation.host)}};
  if (adaptation[Target::kLatency]) {
    json["latency"] = LatencyDocument(adaptation);
  }
  if (const auto& memory = adaptation[Target::kMemory]) {
    json["memory"] =
        ConstantDocument("constant_mib", adaptation.memory_mib, *memory);
  }
  if (const auto& energy = adaptation[Target::kEnergy]) {
    json["energy"] =
        ConstantDocument("level", adaptation.energy_level, *energy);
  }
  return DumpJson(std::move(json)) + "\n";
}

Adaptation AdaptationFromJson(std::string_view json,
                              const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  JsonObject root(document, origin, "");
  root.RequireSchemaVersion(kAdaptationSchemaVersion);
  root.Has("format");  // Already checked by the caller.
  Adaptation adaptation{
      .origin = origin,
      .device = root.String("device"),
      .context = root.String("environment"),
      .rows = static_cast<int>(root.Int("rows", 1, kMostRows)),
      .networks = static_cast<int>(root.Int("networks", 1, kMostRows)),
      .host = ReadHost(root.Object("host"))};
  root.Object("run");  // Its own reader reports errors in its fields.
  adaptation.run = RunFromJson(document.at("run").dump(), origin + ": run");
  if (root.IsGiven("latency")) ReadLatency(root.Object("latency"), adaptation);
  ReadOthers(root, adaptation);
  root.Finish();
  return adaptation;
}

}  // namespace foretell
