#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "foretell/correction.h"
#include "src/core/document_kind.h"
#include "src/core/json_fields.h"
#include "src/core/json_text.h"

namespace foretell {
namespace {

constexpr std::string_view kOfAnyModel = "adaptation";
constexpr std::string_view kOfOneModel = "calibration";
// Far beyond what any row can show, and small enough for exp().
constexpr double kLargestLog = 20;
constexpr double kLargestMib = 1e6;
constexpr double kLargestRate = 1e30;
constexpr double kLargestHostFactor = 1e3;
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr int kMostRows = 1'000'000'000;
constexpr int kMostPowers = 64;
constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();
constexpr NameTable<3> kPlaces = {"batch", "length", "field"};

void DescribeErrors(JsonFields& fields, RowErrors& errors) {
  fields.Number("median", errors.median, 0, kLargest);
  fields.Number("mean", errors.mean, 0, kLargest);
}

void DescribeFigure(JsonFields& fields, CorrectedFigure& figure) {
  fields.Int("rows", figure.rows, 1, kMostRows);
  fields.Object("error_before", [&](JsonFields& errors) {
    DescribeErrors(errors, figure.before);
  });
  fields.Object("error_after", [&](JsonFields& errors) {
    DescribeErrors(errors, figure.after);
  });
  fields.Number("largest_residual", figure.largest_residual, 0, kLargestLog);
  fields.NumberOrNull("half_width", figure.half_width, 0, kLargestLog);
  fields.Texts("corrects", figure.corrects);
}

void DescribeHost(JsonFields& fields, HostSpec& host) {
  if (fields.IsGivenOrNull("name", host.IsNamed())) {
    fields.Text("name", host.name);
  }
  fields.Number("factor", host.factor, 1 / kLargestHostFactor,
                kLargestHostFactor);
  fields.Number("spread", host.spread, 1, kLargestHostFactor);
}

void DescribeLatency(JsonFields& fields, CorrectionTerms& terms) {
  constexpr double kLowestRate = 1 / kLargestRate;
  fields.Number("level", terms.level, -kLargestLog, kLargestLog);
  fields.Number("exponent", terms.exponent, -kLargestLog, kLargestLog);
  fields.Number("reference_rate", terms.reference_rate, kLowestRate,
                kLargestRate);
  fields.Number("lowest_rate", terms.lowest_rate, kLowestRate, kLargestRate);
  fields.Number("highest_rate", terms.highest_rate, terms.lowest_rate,
                kLargestRate);
}

void DescribeFigures(JsonFields& fields, Correction& correction) {
  CorrectionTerms& terms = correction.terms;
  fields.Int("rows", correction.rows, 1, kMostRows);
  fields.Int("networks", correction.networks, 1, kMostRows);
  fields.Object("host",
                [&](JsonFields& host) { DescribeHost(host, terms.host); });
  const auto figure = [&](Target target, const char* key, auto describe) {
    fields.OptionalObject(key, correction[target],
                          [&](JsonFields& in, CorrectedFigure& shown) {
                            describe(in);
                            DescribeFigure(in, shown);
                          });
  };
  figure(Target::kLatency, "latency",
         [&](JsonFields& in) { DescribeLatency(in, terms); });
  figure(Target::kMemory, "memory", [&](JsonFields& in) {
    in.Number("constant_mib", terms.memory_mib, -kLargestMib, kLargestMib);
  });
  figure(Target::kEnergy, "energy", [&](JsonFields& in) {
    in.Number("level", terms.energy_level, -kLargestLog, kLargestLog);
  });
}

void DescribeFactor(JsonFields& fields, ScopeFactor& factor) {
  fields.Text("name", factor.name);
  fields.Named("place", factor.place, kPlaces);
  fields.Number("lowest", factor.lowest, 0, kLargest);
  fields.Number("highest", factor.highest, factor.lowest, kLargest);
  if (factor.place != ScopeFactor::Place::kLength) return;
  fields.Text("input", factor.input);
  fields.Int("dim", factor.dim, 0, kMostPowers);
}

void DescribeRange(JsonFields& fields, ScopeRange& range) {
  fields.Int("lowest", range.lowest, 0, kMostCount);
  fields.Int("highest", range.highest, range.lowest, kMostCount);
}

void DescribeSize(JsonFields& fields, ScopeSize& size,
                  const std::vector<ScopeFactor>& factors) {
  if (fields.IsGiven("size", size.size.has_value())) {
    if (!size.size) size.size.emplace();
    fields.Int("size", *size.size, 0, kMostCount);
  }
  if (!fields.IsGiven("factor", !size.factor.empty())) return;
  fields.Text("factor", size.factor);
  fields.Require(
      std::ranges::count(factors, size.factor, &ScopeFactor::name) > 0,
      "factor",
      fmt::format("is '{}', which is not one of the factors", size.factor));
}

void DescribeStep(JsonFields& fields, ScopeStep& step,
                  const std::vector<ScopeFactor>& factors) {
  fields.Object("operators",
                [&](JsonFields& in) { DescribeRange(in, step.operators); });
  fields.Object("parameters",
                [&](JsonFields& in) { DescribeRange(in, step.parameters); });
  fields.Objects("inputs", step.inputs, [&](JsonFields& in, ScopeInput& input) {
    in.Text("name", input.name);
    in.Objects("shape", input.shape, [&](JsonFields& dim, ScopeSize& size) {
      DescribeSize(dim, size, factors);
    });
  });
}

void DescribeGap(JsonFields& fields, Correction& correction) {
  CorrectionScope& scope = correction.scope;
  std::optional<CorrectedFigure>& memory = correction[Target::kMemory];
  if (!memory) memory.emplace();
  double largest_error = std::expm1(memory->largest_residual);
  fields.Text("model", scope.model);
  fields.Text("measured_on", scope.measured_on);
  fields.Int("runs", correction.rows, 1, kMostRows);
  fields.Number("error_left_out", memory->after.mean, 0, kLargest);
  fields.Number("largest_error_left_out", largest_error, 0, kLargest);
  correction.networks = 1;
  memory = CorrectedFigure::OfOneModel(correction.rows, memory->after.mean,
                                       largest_error);
  fields.Objects("factors", scope.factors, &DescribeFactor);
  fields.OptionalObject("step", scope.step,
                        [&](JsonFields& in, ScopeStep& step) {
                          DescribeStep(in, step, scope.factors);
                        });
  fields.Objects(
      "gap_mib", correction.terms.gap, [&](JsonFields& in, GapTerm& term) {
        in.Number("coefficient", term.coefficient, -kLargest, kLargest);
        in.Ints("powers", term.powers, 0, kMostPowers);
        in.Require(term.powers.size() == scope.factors.size(), "powers",
                   fmt::format("has {} numbers, expected {}",
                               term.powers.size(), scope.factors.size()));
      });
}

/// All fields except for the version and the run.
void Describe(JsonFields& fields, bool of_one_model, Correction& correction) {
  fields.Text("device", correction.scope.device);
  fields.Text("environment", correction.scope.context);
  (of_one_model ? DescribeGap : DescribeFigures)(fields, correction);
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
  nlohmann::ordered_json json = {
      {"format", of_one_model ? kOfOneModel : kOfAnyModel},
      {"schema_version", kCorrectionSchemaVersion},
      {"run", nlohmann::ordered_json::parse(RunToJson(correction.scope.run))}};
  JsonFields fields(json);
  Correction written = correction;
  Describe(fields, of_one_model, written);
  return DumpJson(std::move(json)) + "\n";
}

Correction CorrectionFromJson(std::string_view json,
                              const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin, {DocumentKind::kCorrection});
  JsonObject root(document, origin, "");
  const bool of_one_model = ReadIsOfOneModel(root);
  root.RequireSchemaVersion(kCorrectionSchemaVersion);
  Correction correction{.origin = origin};
  JsonFields fields(root);
  Describe(fields, of_one_model, correction);
  root.Object("run");  // Its own reader reports errors in its fields.
  correction.scope.run =
      RunFromJson(document.at("run").dump(), origin + ": run");
  root.Finish();
  return correction;
}

}  // namespace foretell
