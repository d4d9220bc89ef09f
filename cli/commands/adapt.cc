#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/flags/model_options.h"
#include "cli/flags/named_flag.h"
#include "cli/flags/open_model.h"
#include "cli/flags/run_flags.h"
#include "cli/print/print_adaptation.h"
#include "cli/print/progress_bar.h"
#include "foretell/features.h"
#include "foretell/predictor.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/correct/fit_correction.h"
#include "src/correct/measured_rows.h"

namespace foretell::cli {
namespace {

constexpr char kAdaptExamples[] =
    "ROWS is what `foretell measure` prints with --csv or --json, or a CSV\n"
    "table with the columns model, batch, latency_ms and optionally\n"
    "memory_mib, energy_j, inputs: docs/adapting.md. Exit status 1: the\n"
    "held-out rows got worse, and nothing is written.\n"
    "Examples:\n"
    "  foretell measure *.onnx --batch 1,32 --csv > rows.csv\n"
    "  foretell adapt rows.csv --device rtx-4090 --host cpp --out mine.json\n"
    "  foretell predict new.onnx --batch 8 --device rtx-4090 --host cpp \\\n"
    "      --adaptation mine.json";

struct AdaptCommand {
  std::string rows;
  std::string out;
  ModelOptions model;
  PredictorFlags predictor;
  std::vector<Target> figures;
  bool force = false;
};

PredictedRow PredictRow(const MeasuredRow& row, const OperatorGraph& graph,
                        const Predictor& predictor) {
  PredictedRow predicted{
      .network = row.model,
      .macs = static_cast<double>(CountStaticFeatures(graph).macs),
      .measured = row.measured,
      .host_factor = predictor.host().factor};
  for (const double slowdown : HostFactors()) {
    HostSpec host = predictor.host();
    host.factor *= slowdown;
    predicted.Add(predictor.OnHost(host).Predict(graph));
  }
  return predicted;
}

/// The rows' networks, each opened once.
class RowTracer {
 public:
  explicit RowTracer(const ModelOptions& options) : options_(options) {}

  OperatorGraph GraphOf(const MeasuredRow& row) {
    auto found = programs_.find(row.model);
    if (found == programs_.end()) {
      found = programs_
                  .emplace(row.model,
                           OpenModel(row.model, options_.ToLoadOptions()))
                  .first;
    }
    StepRequest step = options_.ToStep(row.batch);
    for (const std::string& text : row.inputs) {
      step.inputs.inputs.push_back(ParseInput(text));
    }
    return Session(found->second, std::move(step)).Graph();
  }

 private:
  const ModelOptions& options_;
  std::map<std::string, Program> programs_;
};

std::vector<PredictedRow> PredictRows(const AdaptCommand& options,
                                      const std::vector<MeasuredRow>& rows,
                                      const Predictor& predictor) {
  RowTracer tracer(options.model);
  ProgressBar progress;
  std::vector<PredictedRow> predicted;
  for (const MeasuredRow& row : rows) {
    progress.Show(std::ssize(predicted), std::ssize(rows), 0, row.model);
    try {
      predicted.push_back(PredictRow(row, tracer.GraphOf(row), predictor));
    } catch (const Error& error) {
      throw WithContext(row.place, error);
    }
  }
  return predicted;
}

/// What --figure names, or every figure that enough rows have.
std::vector<Target> TargetsOf(const AdaptCommand& options,
                              const std::vector<MeasuredRow>& rows) {
  if (!options.figures.empty()) return options.figures;
  std::vector<Target> targets;
  for (const Target target : kAllTargets) {
    std::size_t count = 0;
    for (const MeasuredRow& row : rows) {
      if (row.measured[static_cast<std::size_t>(target)]) ++count;
    }
    if (count >= kFewestRows) {
      targets.push_back(target);
    } else if (count > 0) {
      PrintWarning(
          fmt::format("{} is not adapted: {} with {}, expected at least {}",
                      TargetName(target), Counted(count, "row"),
                      TargetField(target), kFewestRows));
    }
  }
  return targets;
}

CorrectionFit Fit(const AdaptCommand& options,
                  const std::vector<MeasuredRow>& rows,
                  const Predictor& predictor) {
  const std::vector<Target> targets = TargetsOf(options, rows);
  const std::vector<PredictedRow> predicted =
      PredictRows(options, rows, predictor);
  try {
    return FitCorrection(predicted, targets,
                         {.scope = {.device = predictor.device().name,
                                    .context = predictor.context().name,
                                    .run = options.model.run},
                          .terms = {.host = predictor.host()}});
  } catch (const Error& error) {
    throw WithContext(options.rows, error);
  }
}

ExitCode RunAdapt(const AdaptCommand& options) {
  // The rows contain nothing about MIG slices.
  const Predictor predictor = options.predictor.Make(
      options.model.run, /*with_least=*/true, /*with_slices=*/false);
  const DeviceCatalog catalog = options.predictor.device.Catalog();
  const MeasuredTable table = ReadMeasuredRows(
      options.rows, {predictor.device(), catalog, options.model.run});
  for (const std::string& text : table.warnings) PrintWarning(text);
  const CorrectionFit fit = Fit(options, table.rows, predictor);
  for (const std::string& text : fit.warnings) PrintWarning(text);
  std::cout << FormatAdaptation(fit.correction);
  if (!fit.worse.empty() && !options.force) {
    PrintError(fmt::format(
        "{}: held-out rows got worse: {}; nothing is written (choose other "
        "figures with --figure, or write anyway with --force)",
        options.rows, FormatWorse(fit)));
    return kExitDoesNotFit;
  }
  WriteWhole(options.out, CorrectionToJson(fit.correction));
  return kExitOk;
}

}  // namespace

void AddAdapt(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<AdaptCommand>();
  CLI::App* command =
      app.add_subcommand("adapt",
                         "Correct predictions for all models with measurements "
                         "from your own GPU (for one model: calibrate)");
  command->footer(kAdaptExamples);
  command->add_option("ROWS", options->rows, "Table of measurements")
      ->required();
  command->add_option("--out", options->out, "File to write, for --adaptation")
      ->required();
  options->model.AddTraceFlags(*command);
  options->predictor.AddTo(*command, options->model.run);
  command->remove_option(command->get_option("--adaptation"));
  AddNamedList(*command, "--figure", options->figures,
               {kAllTargets.begin(), kAllTargets.end()}, &TargetName,
               "Figures to adapt; default: those with at least five rows");
  command->add_flag("--force", options->force,
                    "Write the file even if it makes rows worse");
  command->callback([options, &exit_code] { exit_code = RunAdapt(*options); });
}

}  // namespace foretell::cli
