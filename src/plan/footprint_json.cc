#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "foretell/plan.h"
#include "src/core/document_kind.h"
#include "src/core/json_object.h"
#include "src/core/json_text.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostAxes = 8;
constexpr int kHighestPower = 4;
constexpr double kMostBytes = 1e18;
constexpr std::int64_t kMostHalo = 1 << 20;

FootprintTerm ReadTerm(JsonObject& object, std::size_t axes) {
  FootprintTerm term{object.Number("bytes", 0, kMostBytes),
                     object.Ints("powers", 0, kHighestPower)};
  if (term.powers.size() != axes) {
    object.Fail("powers", fmt::format("has {} numbers, expected {}",
                                      term.powers.size(), axes));
  }
  object.Finish();
  return term;
}

std::vector<std::int64_t> ReadShape(JsonObject& object, std::size_t axes) {
  auto shape = object.Get<std::vector<std::int64_t>>("shape");
  if (shape.size() != axes || std::ranges::min(shape) < 1) {
    object.Fail("shape", fmt::format("expected {} sizes above 0", axes));
  }
  return shape;
}

void ReadRuns(JsonObject& root, Footprint& footprint) {
  const std::size_t axes = footprint.axes.size();
  for (JsonObject& run : root.Objects("runs")) {
    footprint.runs.push_back(
        {ReadShape(run, axes),
         run.Int("peak_bytes", 1, std::numeric_limits<std::int64_t>::max())});
    run.Finish();
  }
  for (JsonObject& run : root.Objects("failed")) {
    footprint.failed.push_back({ReadShape(run, axes), run.String("message")});
    run.Finish();
  }
}

/// Refuses names in the field `key` that are not axes.
void RequireAxes(const JsonObject& root, const std::string& key,
                 const std::vector<std::string>& names,
                 const std::vector<std::string>& axes) {
  for (const std::string& name : names) {
    if (std::ranges::find(axes, name) != axes.end()) continue;
    root.Fail(key, fmt::format("names '{}', which is not an axis", name));
  }
}

void ReadGeometry(JsonObject& root, Footprint& footprint) {
  footprint.axes = root.Strings("axes");
  const std::size_t axes = footprint.axes.size();
  if (axes < 1 || axes > kMostAxes) {
    root.Fail("axes",
              fmt::format("has {} names, expected 1 to {}", axes, kMostAxes));
  }
  footprint.halo = root.Get<std::vector<std::int64_t>>("halo");
  if (footprint.halo.size() != axes || std::ranges::min(footprint.halo) < 0 ||
      std::ranges::max(footprint.halo) > kMostHalo) {
    root.Fail("halo", fmt::format("expected {} numbers from 0", axes));
  }
  footprint.whole = root.Strings("whole");
  RequireAxes(root, "whole", footprint.whole, footprint.axes);
  footprint.arrays = root.Get<std::vector<std::vector<std::string>>>("arrays");
  for (const std::vector<std::string>& array : footprint.arrays) {
    RequireAxes(root, "arrays", array, footprint.axes);
  }
}

Json RunsJson(const Footprint& footprint) {
  Json runs = Json::array();
  for (const FootprintRun& run : footprint.runs) {
    runs.push_back({{"shape", run.shape}, {"peak_bytes", run.peak_bytes}});
  }
  return runs;
}

Json FailedJson(const Footprint& footprint) {
  Json failed = Json::array();
  for (const FailedRun& run : footprint.failed) {
    failed.push_back({{"shape", run.shape}, {"message", run.message}});
  }
  return failed;
}

}  // namespace

Footprint FootprintFromJson(std::string_view json, const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin, {DocumentKind::kFootprint});
  JsonObject root(document, origin, "");
  root.RequireSchemaVersion(kFootprintSchemaVersion);
  Footprint footprint;
  footprint.algorithm = root.String("algorithm");
  footprint.dtype = root.Get<std::string>("dtype");
  ReadGeometry(root, footprint);
  root.Has("formula");  // The terms have its content.
  for (JsonObject& term : root.Objects("terms")) {
    footprint.terms.push_back(ReadTerm(term, footprint.axes.size()));
  }
  footprint.error = root.Number("error", 0, kMostBytes);
  footprint.largest_error = root.Number("largest_error", 0, kMostBytes);
  footprint.command = root.Get<std::string>("command");
  footprint.source = root.Get<std::string>("source");
  ReadRuns(root, footprint);
  root.Finish();
  return footprint;
}

std::string FootprintToJson(const Footprint& footprint) {
  Json terms = Json::array();
  for (const FootprintTerm& term : footprint.terms) {
    terms.push_back({{"bytes", term.bytes}, {"powers", term.powers}});
  }
  return DumpJson(Json{{"schema_version", kFootprintSchemaVersion},
                       {"algorithm", footprint.algorithm},
                       {"dtype", footprint.dtype},
                       {"axes", footprint.axes},
                       {"halo", footprint.halo},
                       {"whole", footprint.whole},
                       {"arrays", footprint.arrays},
                       {"formula", FootprintFormula(footprint)},
                       {"terms", std::move(terms)},
                       {"error", footprint.error},
                       {"largest_error", footprint.largest_error},
                       {"command", footprint.command},
                       {"source", footprint.source},
                       {"runs", RunsJson(footprint)},
                       {"failed", FailedJson(footprint)}}) +
         "\n";
}

}  // namespace foretell
