#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/command.h"
#include "cli/commands/fit_rows.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/flags/named_flag.h"
#include "cli/flags/run_flags.h"
#include "cli/print/print_fit.h"
#include "cli/print/progress_bar.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/surrogate/comparison.h"
#include "src/surrogate/model_json.h"

namespace foretell::cli {
namespace {

using surrogate::ComparedRows;
using surrogate::Comparison;
using surrogate::kWantedError;
using SurrogateMethod = surrogate::Method;

constexpr char kFitExamples[] =
    "Fits a CSV table with a header and numbers. For a model with --sweep the\n"
    "rows are predictions at points of the sweep: some choose the formula,\n"
    "others give the error that is printed with it: docs/fit.md.\n"
    "Examples:\n"
    "  foretell fit rows.csv --target memory --method symbolic,linear\n"
    "  foretell fit rows.csv --judge mine.json\n"
    "  foretell fit model.onnx --target memory --mode training \\\n"
    "      --sweep batch=1..256,resolution=64..512:32";

std::vector<SurrogateMethod> MethodsOf(const FitCommand& command) {
  if (!command.methods.empty()) return command.methods;
  if (command.sweep.empty()) return {SurrogateMethod::kSymbolic};
  return {SurrogateMethod::kPiecewise, SurrogateMethod::kSymbolic,
          SurrogateMethod::kPolynomial, SurrogateMethod::kLinear};
}

Comparison CompareWithProgress(const FitCommand& command,
                               const ComparedRows& rows) {
  const std::vector<SurrogateMethod> methods = MethodsOf(command);
  ProgressBar progress;
  surrogate::EvolveOptions options = command.evolve;
  options.on_generation = [&](int generation, double error) {
    progress.Show(generation, options.generations, 0,
                  fmt::format("generation, error {}", FormatPercent(error, 2)));
  };
  return Compare(rows, methods, options, [&progress](SurrogateMethod method) {
    progress.Show(0, 1, 0, std::string(MethodName(method)));
  });
}

void WarnOfCoarseFormula(const FitCommand& command,
                         const Comparison& comparison) {
  const double error = comparison.errors[comparison.chosen].mean;
  if (command.sweep.empty() || error <= kWantedError) return;
  const std::string_view why =
      ParseTarget(command.target) == Target::kMemory
          ? "memory grows in steps, and the layer that sets the peak changes"
          : "kernels change with size, and small sizes wait for the host";
  PrintNote(fmt::format(
      "the formula is {} off, more than {}: {}; sweep a smaller range, or ask "
      "`foretell predict` for the point",
      FormatPercent(error, 2), FormatPercent(kWantedError, 0), why));
}

ExitCode RunJudge(const FitCommand& command) {
  const surrogate::FittedModel fitted =
      surrogate::FittedFromJson(ReadText(command.judge), command.judge);
  if (!command.target.empty() && command.target != fitted.target) {
    throw InvalidArgument("{}: target is '{}', but --target is '{}'",
                          command.judge, fitted.target, command.target);
  }
  RequireTable(command.input());
  const surrogate::Table table =
      surrogate::ReadTable(command.input(), fitted.target, fitted.columns);
  const surrogate::HeldOutError error = JudgeModel(*fitted.model, table);
  std::cout << (command.json
                    ? DumpJson(JudgementToJson(fitted.method, error)) + "\n"
                    : FormatJudgement(fitted.method, error));
  return kExitOk;
}

ExitCode RunFit(const FitCommand& command) {
  if (!command.judge.empty()) return RunJudge(command);
  if (command.target.empty()) {
    throw InvalidArgument("fit needs --target, the column to fit");
  }
  if (!command.out.empty()) RequireWritable(command.out);
  const bool sweeps = !command.sweep.empty();
  const ComparedRows rows =
      sweeps ? RowsOfSweep(command) : RowsOfTable(command);
  const Comparison comparison = CompareWithProgress(command, rows);
  if (command.json) {
    std::cout << DumpJson(ComparisonToJson(comparison, rows)) << "\n";
  } else {
    const std::string unit =
        sweeps ? std::string(TargetUnit(*ParseTarget(command.target))) : "";
    std::cout << FormatComparison(comparison, rows, unit);
  }
  WarnOfCoarseFormula(command, comparison);
  if (command.out.empty()) return kExitOk;
  return WriteBesideAnswer(command.out,
                           FittedToJson(comparison.models[comparison.chosen]));
}

void AddWhatToFit(CLI::App& command, FitCommand& fit) {
  command
      .add_option("TABLE", fit.model.models,
                  "CSV table of numbers; with --sweep, a model")
      ->required()
      ->expected(1);
  command.add_option("--target", fit.target,
                     "Column to fit; with --sweep: memory, latency or energy");
  AddList(command, "--columns", fit.columns,
          "Columns that the formula may use; default: all others");
  AddDefaulted(command, "--held-out", fit.held_out,
               "Share of the table's rows that are held out");
  AddNamedList(command, "--method", fit.methods, surrogate::AllMethods(),
               static_cast<std::string_view (*)(SurrogateMethod)>(
                   &surrogate::MethodName),
               "Methods to compare; default: symbolic; with --sweep, the best "
               "method that yields a formula");
  AddDefaulted(command, "--seed", fit.evolve.seed,
               "Seed of the held-out rows or points, and of the search");
}

void AddSearchFlags(CLI::App& command, FitCommand& fit) {
  AddDefaulted(command, "--population", fit.evolve.population,
               "Formulas of a generation", CLI::Range(2, 100000));
  AddDefaulted(command, "--generations", fit.evolve.generations,
               "Generations of the search", CLI::Range(1, 100000));
  CLI::Option* judge = command.add_option(
      "--judge", fit.judge,
      "Evaluate a stored model on the table instead of fitting one");
  command
      .add_option("--out", fit.out, "File to store the model in, for --judge")
      ->excludes(judge);
  command.add_flag("--json", fit.json, "JSON document on stdout");
}

void AddSweepFlags(CLI::App& command, FitCommand& fit) {
  command.add_option("--sweep", fit.sweep,
                     "Ranges of batch, resolution, named dimensions or zoo "
                     "fields: batch=1..256,resolution=64..512:32");
  AddDefaulted(command, "--points", fit.points,
               "Most points of a sweep to fit and choose a formula with",
               CLI::Range(kFewestPoints, 10000));
  AddDefaulted(command, "--checks", fit.checks,
               "Most further points to test it with", CLI::Range(1, 10000));
  fit.model.AddInputFlag(command);
  fit.model.AddTraceFlags(command);
  fit.predictor.AddTo(command, fit.model.run);
  command.remove_option(command.get_option("--method"));
}

}  // namespace

void AddFit(CLI::App& app, ExitCode& exit_code) {
  auto fit = std::make_shared<FitCommand>();
  CLI::App* command = app.add_subcommand(
      "fit",
      "Fit a formula for memory, latency or energy to a table or a sweep");
  command->footer(kFitExamples);
  AddSweepFlags(*command, *fit);
  AddWhatToFit(*command, *fit);
  AddSearchFlags(*command, *fit);
  command->callback([fit, &exit_code] {
    const ErrorDocument document = fit->json ? &NoResults : nullptr;
    const auto run = [&] { return RunFit(*fit); };
    exit_code = fit->sweep.empty()
                    ? AnswerFor(fit->input(), run, document)
                    : AnswerForModels(fit->model.models, run, document);
  });
}

}  // namespace foretell::cli
