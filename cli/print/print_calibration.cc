#include "cli/print/print_calibration.h"

#include <fmt/core.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"

namespace foretell::cli {
namespace {

constexpr char kGapName[] = "gap_MiB";
/// Version of the document; grows when a field changes its meaning.
constexpr int kCalibrateSchemaVersion = 1;

/// Calls `use` with every run that failed, of all designs.
void ForEachFailed(const CalibrationResult& found,
                   const std::function<void(const FailedPoint&)>& use) {
  for (const FailedPoint& run : found.runs.failed) use(run);
  for (const auto* runs : {&found.checks, &found.random_runs}) {
    if (!*runs) continue;
    for (const FailedPoint& run : (*runs)->failed) use(run);
  }
}

nlohmann::ordered_json FailedJson(const CalibrationResult& found) {
  auto list = nlohmann::ordered_json::array();
  ForEachFailed(found, [&](const FailedPoint& run) {
    nlohmann::ordered_json one;
    for (std::size_t i = 0; i < run.factors.size(); ++i) {
      one[found.runs.measured.columns[i]] = run.factors[i];
    }
    one["status"] = run.status;
    one["message"] = run.message;
    list.push_back(std::move(one));
  });
  return list;
}

nlohmann::ordered_json RunRowsJson(const CalibrationRuns& runs) {
  auto rows = nlohmann::ordered_json::array();
  for (Eigen::Index i = 0; i < runs.estimated.size(); ++i) {
    nlohmann::ordered_json row;
    for (std::size_t j = 0; j < runs.measured.columns.size(); ++j) {
      row[runs.measured.columns[j]] =
          runs.measured.inputs(i, static_cast<Eigen::Index>(j));
    }
    row["measured_mib"] = runs.measured.values[i];
    row["estimated_mib"] = runs.estimated[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

nlohmann::ordered_json GapFitJson(const CalibrationResult& found,
                                  const surrogate::GapFit& fit) {
  nlohmann::ordered_json json = {
      {"gap", fit.gap.Formula(found.runs.measured.columns)},
      {"error_before", fit.before},
      {"error_left_out", fit.after},
      {"largest_error_left_out", fit.after_largest},
      {"error_of_checks", nullptr}};
  if (found.checks) {
    json["error_of_checks"] =
        MeanErrorWith(fit.gap, found.checks->measured, found.checks->estimated);
  }
  return json;
}

std::string RunTable(const CalibrationRuns& runs) {
  std::vector<std::string> header = runs.measured.columns;
  header.insert(header.end(), {"measured MiB", "estimated", "gap"});
  TextTable table(header);
  for (Eigen::Index i = 0; i < runs.estimated.size(); ++i) {
    std::vector<std::string> cells;
    for (const double factor : runs.measured.inputs.row(i)) {
      cells.push_back(FormatExact(factor));
    }
    const double measured = runs.measured.values[i];
    cells.push_back(FormatNumber(measured, 1));
    cells.push_back(FormatNumber(runs.estimated[i], 1));
    cells.push_back(FormatNumber(measured - runs.estimated[i], 1));
    table.AddRow(cells);
  }
  return table.ToString();
}

std::string GapFitText(const CalibrationResult& found,
                       const surrogate::GapFit& fit) {
  std::string text = fmt::format(
      "{} = {}\n"
      "mean error {} before, {} on held-out rows (at most {})\n"
      "",
      kGapName,
      fit.gap.Rounded(found.runs.measured.inputs, 1e-4)
          .Formula(found.runs.measured.columns),
      FormatPercent(fit.before, 2), FormatPercent(fit.after, 2),
      FormatPercent(fit.after_largest, 2));
  if (!found.checks) return text;
  const double before = surrogate::MeanError(found.checks->estimated,
                                             found.checks->measured.values);
  const double after =
      MeanErrorWith(fit.gap, found.checks->measured, found.checks->estimated);
  return text + fmt::format("of {} other points: {} before, {} after\n",
                            found.checks->estimated.size(),
                            FormatPercent(before, 2), FormatPercent(after, 2));
}

}  // namespace

nlohmann::ordered_json CalibrationResultToJson(const CalibrationResult& found) {
  nlohmann::ordered_json json = {
      {"schema_version", kCalibrateSchemaVersion},
      {"model", found.model},
      {"device", found.device},
      {"memory", found.resident ? "resident" : "allocated"},
      {"array", found.array},
      {"fit", GapFitJson(found, found.fit)},
      {"random_fit", nullptr},
      {"checks_before", nullptr},
      {"rows", RunRowsJson(found.runs)},
      {"checks", nlohmann::ordered_json::array()},
      {"failed", FailedJson(found)}};
  if (found.random) json["random_fit"] = GapFitJson(found, *found.random);
  if (!found.checks) return json;
  json["checks"] = RunRowsJson(*found.checks);
  json["checks_before"] = surrogate::MeanError(found.checks->estimated,
                                               found.checks->measured.values);
  return json;
}

std::string FormatCalibration(const CalibrationResult& found) {
  std::string text =
      fmt::format("{}: {} on {}\n{}\n{}", found.array,
                  Counted(found.runs.estimated.size(), "run"), found.device,
                  RunTable(found.runs), GapFitText(found, found.fit));
  if (found.random) {
    text += fmt::format("\nas many random points:\n{}",
                        GapFitText(found, *found.random));
  }
  return text;
}

std::vector<std::string> FailedPointLines(const CalibrationResult& found) {
  std::vector<std::string> lines;
  ForEachFailed(found, [&](const FailedPoint& run) {
    std::string point;
    for (std::size_t i = 0; i < run.factors.size(); ++i) {
      point += fmt::format("{}{}={}", point.empty() ? "" : ",",
                           found.runs.measured.columns[i],
                           FormatExact(run.factors[i]));
    }
    lines.push_back(Printable(fmt::format("{}: {}: {}; run skipped", point,
                                          run.status, run.message)));
  });
  return lines;
}

}  // namespace foretell::cli
