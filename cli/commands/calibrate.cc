#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/calibration_runs.h"
#include "cli/commands/command.h"
#include "cli/commands/swept_model.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/print/print_calibration.h"
#include "foretell/correction.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"

namespace foretell::cli {
namespace {

constexpr char kCalibrateExamples[] =
    "Examples:\n"
    "  foretell calibrate model.onnx --device cpu --sweep "
    "batch=1..32,resolution=64..256:32\n"
    "  foretell calibrate 'zoo:vgg11?layers=1,{early},2,{late},2' \\\n"
    "      --sweep batch=4|8|16|32,early=1|2|3|4,late=1|2|3|4 --json\n"
    "Every run is measured in a separate process: docs/calibrating.md.";
struct CalibrateCommand {
  CalibrationPlan plan;
  std::string out;
  bool json = false;
};

/// What --adaptation reads: the gap, where it holds and how far off it was.
Correction ToCorrection(const CalibrationPlan& plan, const SweptModel& model,
                        const CalibrationResult& found) {
  const surrogate::Table& table = found.runs.measured;
  const surrogate::GapFit& fit = found.fit;
  Correction correction{
      .scope = {.model = plan.model.models.front(),
                .measured_on = plan.device,
                .device = plan.catalog.Find().name,
                .context = plan.catalog.Catalog().DefaultContext().name,
                .run = plan.model.run,
                .factors = model.Factors(),
                .step = CommonStep(found.runs.shown, table.columns)},
      .rows = static_cast<int>(table.rows()),
      .networks = 1};
  std::vector<ScopeFactor>& factors = correction.scope.factors;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const auto column = table.inputs.col(static_cast<Eigen::Index>(i));
    factors[i].lowest = column.minCoeff();
    factors[i].highest = column.maxCoeff();
  }
  for (const surrogate::Term& term : fit.gap.terms()) {
    correction.terms.gap.push_back({term.coefficient, term.powers});
  }
  correction[Target::kMemory] = CorrectedFigure::OfOneModel(
      correction.rows, fit.after, fit.after_largest);
  return correction;
}

/// Empty where the gap helps.
std::string Worsening(const surrogate::GapFit& fit) {
  if (!(fit.after > fit.before)) return "";
  return fmt::format(
      "the correction makes estimates worse: mean error {} without it, {} on "
      "held-out rows with it; predict without --adaptation, or measure more "
      "runs",
      FormatPercent(fit.before, 2), FormatPercent(fit.after, 2));
}

ExitCode RunCalibrate(const CalibrateCommand& command) {
  const CalibrationPlan& plan = command.plan;
  SweptModel model(plan.model, surrogate::ParseAxes(plan.sweep));
  if (!command.out.empty()) RequireWritable(command.out);
  const CalibrationResult found = RunCalibrationPlan(plan, model);
  std::cout << (command.json ? DumpJson(CalibrationResultToJson(found)) + "\n"
                             : FormatCalibration(found));
  for (const std::string& line : FailedPointLines(found)) PrintWarning(line);
  const std::string worsening = Worsening(found.fit);
  if (!worsening.empty()) PrintWarning(worsening);
  if (command.out.empty()) return kExitOk;
  return WriteBesideAnswer(command.out,
                           CorrectionToJson(ToCorrection(plan, model, found)));
}

void AddRunsFlags(CLI::App& command, CalibrationPlan& calibrate) {
  AddDefaulted(command, "--device", calibrate.device,
               "cpu, cuda:N or the UUID of a MIG instance");
  AddDefaulted(command, "--gpu", calibrate.catalog.device,
               "GPU whose allocator and context are simulated, see `foretell "
               "devices`; not for the CPU");
  command
      .add_option("--sweep", calibrate.sweep,
                  "Factors and their values, as in `foretell fit`; ranges are "
                  "reduced to three or four values")
      ->required();
  command.add_flag("--resident", calibrate.resident,
                   "Host memory of the whole process instead of that of "
                   "tensors");
}

void AddCheckFlags(CLI::App& command, CalibrationPlan& calibrate) {
  AddDefaulted(command, "--checks", calibrate.checks,
               "Random points to measure as a test of the correction",
               FromZero());
  command.add_flag(
      "--random", calibrate.random,
      "Fit a second correction to as many random points, for comparison");
  AddDefaulted(command, "--seed", calibrate.seed, "Seed of random points");
  AddDefaulted(command, "--threads", calibrate.measure.threads,
               "CPU threads; 0: LibTorch's default", FromZero());
}

}  // namespace

void AddCalibrate(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<CalibrateCommand>();
  CLI::App* command =
      app.add_subcommand("calibrate",
                         "Correct the memory of one model with a few measured "
                         "runs of it (for all models: adapt)");
  command->footer(kCalibrateExamples);
  options->plan.model.run.host = Host::kCpp;
  command
      ->add_option("MODEL", options->plan.model.models,
                   "ONNX, TorchScript or torch.export file")
      ->required()
      ->expected(1);
  AddRunsFlags(*command, options->plan);
  AddCheckFlags(*command, options->plan);
  options->plan.model.AddInputFlag(*command);
  options->plan.model.AddTraceFlags(*command, /*with_loop=*/false);
  command->add_option(
      "--out", options->out,
      "File to store the correction in, for `predict --adaptation`");
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->callback([options, &exit_code] {
    exit_code = AnswerForModels(
        options->plan.model.models, [&] { return RunCalibrate(*options); },
        options->json ? &NoResults : nullptr);
  });
}

}  // namespace foretell::cli
