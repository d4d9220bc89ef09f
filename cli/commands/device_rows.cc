#include "cli/commands/device_rows.h"

#include <fmt/core.h>

#include <map>

#include "cli/flags/model_options.h"
#include "cli/flags/open_model.h"
#include "cli/print/progress_bar.h"
#include "foretell/measure.h"
#include "foretell/trace.h"
#include "src/core/csv_rows.h"
#include "src/core/failure.h"
#include "src/core/output_file.h"
#include "src/core/parse_number.h"

namespace foretell::cli {
namespace {

/// Of three steps, which one judges the fit.
constexpr std::size_t kHeldOutOf = 3;

Run RunOf(const measure::SuiteStep& step) {
  return {.precision = step.precision, .host = Host::kCpp};
}

DeviceRow Traced(const TimedStep& timed,
                 std::map<std::string, Program>& programs) {
  const measure::SuiteStep& step = timed.step;
  auto found = programs.find(step.model);
  if (found == programs.end()) {
    found = programs.emplace(step.model, OpenModel(step.model)).first;
  }
  const Program& program = found->second;
  const Run run = RunOf(step);
  return {.graph = TraceProgram(program,
                                BindInputs(program.inputs(),
                                           {.batch = step.batch}, step.model),
                                {.run = run})
                       .graph,
          .run = run,
          .measured_ms = timed.latency_ms};
}

/// The number above 0 in a cell.
template <typename T>
T NumberIn(const CsvRow& row, const char* column, const std::string& path) {
  const std::string& cell = row.At(column);
  const std::optional<T> number = ParseNumber<T>(cell);
  if (number && *number > 0) return *number;
  throw Corrupt("{}: line {}: {} is '{}', expected a number above 0", path,
                row.line(), column, cell);
}

TimedStep TimedStepOf(const CsvRow& row, const std::string& path) {
  const std::string& name = row.At("precision");
  const std::optional<Precision> precision = ParsePrecision(name);
  if (!precision) {
    throw Corrupt(
        "{}: line {}: precision is '{}', expected fp32, tf32, fp16 or bf16",
        path, row.line(), name);
  }
  return {.step = {.model = row.At("model"),
                   .batch = NumberIn<std::int64_t>(row, "batch", path),
                   .precision = *precision},
          .latency_ms = NumberIn<double>(row, "latency_ms", path)};
}

}  // namespace

std::vector<TimedStep> MeasureSuite(const std::string& device,
                                    const std::string& rows_out) {
  ProgressBar progress;
  std::int64_t failed = 0;
  std::vector<Measurement> rows;
  std::vector<TimedStep> timed;
  const std::vector<measure::SuiteStep> suite = measure::DeviceSuite();
  for (const measure::SuiteStep& step : suite) {
    progress.Show(std::ssize(rows), std::ssize(suite), failed, step.model);
    rows.push_back(MeasureIsolated({.model = step.model,
                                    .inputs = {.batch = step.batch},
                                    .run = RunOf(step),
                                    .device = device}));
    const Measurement& row = rows.back();
    if (row.status == MeasureStatus::kOk && row.latency) {
      timed.push_back({step, row.latency->median_ms});
    } else if (rows.size() == 1) {
      throw Unsupported("{}: {}", MeasureStatusName(row.status), row.message);
    } else {
      ++failed;
      PrintWarning(fmt::format("{} at batch {}: {}: {}; left out", step.model,
                               step.batch, MeasureStatusName(row.status),
                               row.message));
    }
  }
  if (!rows_out.empty()) WriteWhole(rows_out, MeasurementsToCsv(rows));
  return timed;
}

std::vector<TimedStep> ReadTimedSteps(const std::string& path) {
  std::vector<TimedStep> steps;
  ForEachCsvRow(path, [&](const CsvRow& row) {
    row.Require({"model", "batch", "precision", "latency_ms"});
    const std::string* status = row.Find("status");
    if (status != nullptr && *status != "ok") return;
    steps.push_back(TimedStepOf(row, path));
  });
  return steps;
}

std::vector<TimedStep> SimulateSuite(const DeviceConstants& constants) {
  std::vector<TimedStep> steps;
  for (const measure::SuiteStep& step : measure::DeviceSuite()) {
    steps.push_back({.step = step});
  }
  const std::vector<DeviceRow> rows = TracedRows(steps);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    steps[i].latency_ms = PredictMs(rows[i], constants);
  }
  return steps;
}

std::vector<DeviceRow> TracedRows(const std::vector<TimedStep>& steps) {
  std::map<std::string, Program> programs;
  std::vector<DeviceRow> rows;
  for (const TimedStep& step : steps) {
    rows.push_back(Traced(step, programs));
    rows.back().held_out = rows.size() % kHeldOutOf == 0;
  }
  return rows;
}

}  // namespace foretell::cli
