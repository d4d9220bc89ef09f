#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "foretell/plan.h"
#include "src/core/document_kind.h"
#include "src/core/json_fields.h"
#include "src/core/json_text.h"

namespace foretell {
namespace {

constexpr std::size_t kMostAxes = 8;
constexpr int kHighestPower = 4;
constexpr double kMostBytes = 1e18;
constexpr std::int64_t kMostHalo = 1 << 20;
constexpr std::int64_t kLargestSize = std::numeric_limits<std::int64_t>::max();

bool AreWithin(const std::vector<std::int64_t>& sizes, std::int64_t at_least,
               std::int64_t at_most) {
  return std::ranges::all_of(sizes, [&](std::int64_t size) {
    return size >= at_least && size <= at_most;
  });
}

void DescribeShape(JsonFields& fields, std::vector<std::int64_t>& shape,
                   std::size_t axes) {
  fields.Value("shape", shape);
  fields.Require(shape.size() == axes && AreWithin(shape, 1, kLargestSize),
                 "shape", fmt::format("expected {} sizes above 0", axes));
}

/// Refuses names in the field `key` that are not axes.
void RequireAxes(JsonFields& fields, const std::string& key,
                 const std::vector<std::string>& names,
                 const std::vector<std::string>& axes) {
  for (const std::string& name : names) {
    fields.Require(std::ranges::find(axes, name) != axes.end(), key,
                   fmt::format("names '{}', which is not an axis", name));
  }
}

void DescribeGeometry(JsonFields& fields, Footprint& footprint) {
  fields.Texts("axes", footprint.axes);
  const std::size_t axes = footprint.axes.size();
  fields.Require(
      axes >= 1 && axes <= kMostAxes, "axes",
      fmt::format("has {} names, expected 1 to {}", axes, kMostAxes));
  std::vector<std::int64_t>& halo = footprint.halo;
  fields.Value("halo", halo);
  fields.Require(halo.size() == axes && AreWithin(halo, 0, kMostHalo), "halo",
                 fmt::format("expected {} numbers from 0", axes));
  fields.Texts("whole", footprint.whole);
  RequireAxes(fields, "whole", footprint.whole, footprint.axes);
  fields.Value("arrays", footprint.arrays);
  for (const std::vector<std::string>& array : footprint.arrays) {
    RequireAxes(fields, "arrays", array, footprint.axes);
  }
}

void DescribeRuns(JsonFields& fields, Footprint& footprint) {
  const std::size_t axes = footprint.axes.size();
  fields.Objects("runs", footprint.runs,
                 [&](JsonFields& in, FootprintRun& run) {
                   DescribeShape(in, run.shape, axes);
                   in.Int("peak_bytes", run.peak_bytes, 1, kLargestSize);
                 });
  fields.Objects("failed", footprint.failed,
                 [&](JsonFields& in, FailedRun& run) {
                   DescribeShape(in, run.shape, axes);
                   in.Text("message", run.message);
                 });
}

void DescribeFootprint(JsonFields& fields, Footprint& footprint) {
  fields.SchemaVersion(kFootprintSchemaVersion);
  fields.Text("algorithm", footprint.algorithm);
  fields.Value("dtype", footprint.dtype);
  DescribeGeometry(fields, footprint);
  fields.Derived("formula", [&] { return FootprintFormula(footprint); });
  const std::size_t axes = footprint.axes.size();
  fields.Objects("terms", footprint.terms,
                 [&](JsonFields& in, FootprintTerm& term) {
                   in.Number("bytes", term.bytes, 0, kMostBytes);
                   in.Ints("powers", term.powers, 0, kHighestPower);
                   in.Require(term.powers.size() == axes, "powers",
                              fmt::format("has {} numbers, expected {}",
                                          term.powers.size(), axes));
                 });
  fields.Number("error", footprint.error, 0, kMostBytes);
  fields.Number("largest_error", footprint.largest_error, 0, kMostBytes);
  fields.Value("command", footprint.command);
  fields.Value("source", footprint.source);
  DescribeRuns(fields, footprint);
}

}  // namespace

Footprint FootprintFromJson(std::string_view json, const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin, {DocumentKind::kFootprint});
  return ReadFields<Footprint>(JsonObject(document, origin, ""),
                               &DescribeFootprint);
}

std::string FootprintToJson(const Footprint& footprint) {
  return DumpJson(WriteFields(footprint, &DescribeFootprint)) + "\n";
}

}  // namespace foretell
