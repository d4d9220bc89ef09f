#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/swept_model.h"
#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/print/progress_bar.h"
#include "foretell/error.h"
#include "foretell/measure.h"
#include "foretell/memory.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/core/text_table.h"
#include "src/core/units.h"
#include "src/surrogate/gap.h"
#include "src/surrogate/model_json.h"
#include "src/surrogate/orthogonal_array.h"

namespace foretell::cli {
namespace {

constexpr char kCalibrateExamples[] =
    "Examples:\n"
    "  foretell calibrate model.onnx --device cpu --sweep "
    "batch=1..32,resolution=64..256:32\n"
    "  foretell calibrate 'zoo:vgg11?layers=1,{early},2,{late},2' \\\n"
    "      --sweep batch=4|8|16|32,early=1|2|3|4,late=1|2|3|4 --json\n"
    "Every run is measured in a process of its own: docs/calibrating.md.";
constexpr char kGapTarget[] = "gap_MiB";

struct CalibrateCommand {
  ModelOptions model;
  DeviceFlags catalog;  ///< Whose allocator the estimate simulates.
  std::string device = "cpu";
  std::string sweep;
  bool resident = false;
  int checks = 0;
  bool random = false;
  std::uint64_t seed = 0;
  MeasureOptions measure = {.warmup_runs = 1, .min_runs = 1, .min_seconds = 0};
  std::string out;
  bool json = false;
};

/// Points with what was measured and estimated there, in MiB.
struct Runs {
  surrogate::Table measured;
  Eigen::VectorXd estimated;
};

double MemoryOf(const Measurement& row, bool resident) {
  const MeasuredMemory& memory = row.memory;
  if (resident) return ToMiB(memory.peak_rss_bytes);
  if (memory.process_bytes) return ToMiB(*memory.process_bytes);
  return ToMiB(memory.peak_allocated_bytes.value_or(0));
}

/// Measures and estimates one point after the other.
class Bench {
 public:
  Bench(const CalibrateCommand& command, SweptModel& model)
      : command_(command),
        model_(model),
        memory_{.device = command.catalog.Find(),
                .context = command.catalog.Catalog().DefaultContext(),
                .with_workspaces = command.device != "cpu"} {}

  Runs RunAll(const Eigen::MatrixXd& points) {
    Runs runs{{.columns = model_.Names(),
               .target = "memory",
               .inputs = points,
               .values = Eigen::VectorXd(points.rows())},
              Eigen::VectorXd(points.rows())};
    ProgressBar progress;
    for (Eigen::Index i = 0; i < points.rows(); ++i) {
      progress.Show(i, points.rows(), 0, "measuring");
      runs.measured.values[i] = Measure(points.row(i));
      runs.estimated[i] = Estimate(points.row(i));
    }
    return runs;
  }

 private:
  double Measure(const Eigen::VectorXd& point) {
    const SweptPoint swept = model_.At(point);
    MeasureRequest request{.model = swept.model,
                           .load = command_.model.ToLoadOptions(),
                           .inputs = {.inputs = swept.inputs},
                           .run = command_.model.run,
                           .device = command_.device,
                           .seed = command_.seed,
                           .options = command_.measure};
    const Measurement row = MeasureIsolated(request);
    if (row.status != MeasureStatus::kOk) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: {}: {}", swept.model,
                              MeasureStatusName(row.status), row.message));
    }
    return MemoryOf(row, command_.resident);
  }

  double Estimate(const Eigen::VectorXd& point) {
    const MemoryBreakdown memory =
        SimulateMemory(model_.GraphAt(point), memory_);
    const std::int64_t bytes =
        command_.device == "cpu" ? memory.allocated_peak : memory.total;
    return ToMiB(bytes);
  }

  const CalibrateCommand& command_;
  SweptModel& model_;
  MemoryOptions memory_;
};

/// What a calibration found.
struct Calibration {
  std::string array;
  Runs runs;
  surrogate::GapFit fit;
  std::optional<Runs> checks;
  std::optional<surrogate::GapFit> random;  ///< By as many random points.
};

Calibration Calibrate(const CalibrateCommand& command, SweptModel& model) {
  Bench bench(command, model);
  const surrogate::PlannedRuns planned = surrogate::PlanRuns(model.axes());
  Runs runs = bench.RunAll(planned.points);
  surrogate::GapFit fit = FitGap(runs.measured, runs.estimated);
  Calibration found{std::string(planned.array), std::move(runs), std::move(fit),
                    std::nullopt, std::nullopt};
  const auto count = static_cast<int>(planned.points.rows());
  const Eigen::MatrixXd others =
      DrawPoints(model.axes(), count + command.checks, false, command.seed);
  if (command.checks > 0) {
    found.checks = bench.RunAll(
        others.topRows(std::min<Eigen::Index>(command.checks, others.rows())));
  }
  if (command.random) {
    const Runs random = bench.RunAll(
        others.bottomRows(std::min<Eigen::Index>(count, others.rows())));
    found.random = FitGap(random.measured, random.estimated);
  }
  return found;
}

surrogate::FittedModel ToModel(const Calibration& found) {
  const surrogate::Table& table = found.runs.measured;
  surrogate::FittedModel model{
      .method = surrogate::Method::kPolynomial,
      .target = kGapTarget,
      .columns = table.columns,
      .model = std::make_unique<surrogate::PowerSum>(found.fit.gap),
      .rows = static_cast<int>(table.rows())};
  for (Eigen::Index i = 0; i < table.inputs.cols(); ++i) {
    model.lowest.push_back(table.inputs.col(i).minCoeff());
    model.highest.push_back(table.inputs.col(i).maxCoeff());
  }
  return model;
}

nlohmann::ordered_json RowsJson(const Runs& runs) {
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

nlohmann::ordered_json FitJson(const Calibration& found,
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

nlohmann::ordered_json CalibrationToJson(const CalibrateCommand& command,
                                         const Calibration& found) {
  nlohmann::ordered_json json = {
      {"schema_version", surrogate::kModelSchemaVersion},
      {"model", command.model.models.front()},
      {"device", command.device},
      {"memory", command.resident ? "resident" : "allocated"},
      {"array", found.array},
      {"fit", FitJson(found, found.fit)},
      {"random_fit", nullptr},
      {"checks_before", nullptr},
      {"rows", RowsJson(found.runs)},
      {"checks", nlohmann::ordered_json::array()}};
  if (found.random) json["random_fit"] = FitJson(found, *found.random);
  if (!found.checks) return json;
  json["checks"] = RowsJson(*found.checks);
  json["checks_before"] = surrogate::MeanError(found.checks->estimated,
                                               found.checks->measured.values);
  return json;
}

std::string FormatRuns(const Runs& runs) {
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

std::string FitText(const Calibration& found, const surrogate::GapFit& fit) {
  std::string text = fmt::format(
      "{} = {}\nmean error {} before, {} of rows left out (at most {})\n",
      kGapTarget,
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

ExitCode RunCalibrate(const CalibrateCommand& command) {
  SweptModel model(command.model, surrogate::ParseAxes(command.sweep));
  const Calibration found = Calibrate(command, model);
  if (command.json) {
    std::cout << DumpJson(CalibrationToJson(command, found)) << "\n";
  } else {
    std::cout << fmt::format("{}: {} runs on {}\n{}\n{}", found.array,
                             found.runs.estimated.size(), command.device,
                             FormatRuns(found.runs), FitText(found, found.fit));
    if (found.random) {
      std::cout << "\nas many random points:\n"
                << FitText(found, *found.random);
    }
  }
  if (!command.out.empty()) {
    WriteWhole(command.out, FittedToJson(ToModel(found)));
  }
  return kExitOk;
}

void AddRunsFlags(CLI::App& command, CalibrateCommand& calibrate) {
  command
      .add_option("--device", calibrate.device,
                  "cpu, cuda:N or the UUID of a MIG instance")
      ->capture_default_str();
  command
      .add_option(
          "--gpu", calibrate.catalog.device,
          "GPU whose allocator and context are simulated, see `foretell "
          "devices`; not for the CPU")
      ->capture_default_str();
  command
      .add_option("--sweep", calibrate.sweep,
                  "Factors with their values, as of `foretell fit`; ranges are "
                  "thinned out to three or four")
      ->required();
  command.add_flag("--resident", calibrate.resident,
                   "Host memory of the whole process in the place of that of "
                   "tensors");
}

void AddCheckFlags(CLI::App& command, CalibrateCommand& calibrate) {
  command
      .add_option("--checks", calibrate.checks,
                  "Random points, measured to judge the gap by")
      ->check(FromZero())
      ->capture_default_str();
  command.add_flag("--random", calibrate.random,
                   "Fit another gap to as many random points, to compare");
  command.add_option("--seed", calibrate.seed, "Seed of random points")
      ->capture_default_str();
  command
      .add_option("--threads", calibrate.measure.threads,
                  "CPU threads; 0: LibTorch's default")
      ->check(FromZero())
      ->capture_default_str();
}

}  // namespace

void AddCalibrate(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<CalibrateCommand>();
  CLI::App* command = app.add_subcommand(
      "calibrate",
      "What estimates of memory lack, from a few runs chosen by an orthogonal "
      "array");
  command->footer(kCalibrateExamples);
  options->model.run.host = Host::kCpp;
  command
      ->add_option("MODEL", options->model.models,
                   "ONNX, TorchScript or torch.export file")
      ->required()
      ->expected(1);
  AddRunsFlags(*command, *options);
  AddCheckFlags(*command, *options);
  options->model.AddTraceFlags(*command);
  command->add_option("--out", options->out, "File to store the gap in");
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->callback(
      [options, &exit_code] { exit_code = RunCalibrate(*options); });
}

}  // namespace foretell::cli
