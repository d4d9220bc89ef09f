#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands/command.h"
#include "cli/flags/fit_flags.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "foretell/fit.h"
#include "foretell/predictor.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

constexpr char kFitsExamples[] =
    "Exit status 0: within every limit; 1: not. Memory is judged by the upper\n"
    "end of its interval, latency and energy by their estimates (by the upper\n"
    "ends with --strict).\n"
    "Examples:\n"
    "  foretell fits model.onnx --batch 8 --profile 1g.5gb\n"
    "  foretell fits model.onnx --batch 8 --max-memory 8000 --max-latency 20";

struct FitsOptions {
  ModelOptions model;
  PredictorFlags predictor;
  FitLimits limits;
};

void Print(const std::string& name, const std::string& place,
           const FitVerdict& verdict) {
  std::cout << Printable(name) << " on " << place << ":\n";
  for (const FitCheck& check : verdict.checks) {
    std::cout << "  " << check.what << " " << FormatSignificant(check.value)
              << " " << check.unit << (check.within ? " <= " : " > ")
              << FormatSignificant(check.limit) << " " << check.unit << "\n";
  }
  std::cout << (verdict.fits ? "  fits\n" : "  does not fit\n");
}

/// "a100-sxm4-40gb 1g.5gb", or the device alone. Throws Error(kNotFound) for a
/// profile that it lacks.
std::string PlaceName(const DeviceSpec& device, const std::string& profile) {
  if (profile.empty()) return device.name;
  return device.name + " " + device.FindMigProfile(profile).name;
}

ExitCode RunFits(const FitsOptions& options) {
  const Predictor predictor = options.predictor.Make(options.model.run);
  const DeviceSpec& device = predictor.device();
  const std::string place = PlaceName(device, options.limits.profile);
  bool all_fit = true;
  const std::vector<ReportError> errors = ForEachTrace(
      options.model, [&](const Program& program, const Trace& trace) {
        const FitVerdict verdict =
            JudgeFit(predictor.Predict(trace.graph), device, options.limits);
        Print(program.name(), place, verdict);
        all_fit &= verdict.fits;
      });
  for (const ReportError& error : errors) PrintError(error.message);
  if (!errors.empty()) return kExitModelFailed;
  return all_fit ? kExitOk : kExitDoesNotFit;
}

}  // namespace

void AddFits(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<FitsOptions>();
  CLI::App* command = app.add_subcommand(
      "fits", "Says by its exit status whether models fit: a gate for CI");
  command->footer(kFitsExamples);
  options->model.AddTo(*command, /*many=*/true);
  options->predictor.AddTo(*command, options->model.run);
  AddFitFlags(*command, options->limits);
  command->callback([options, &exit_code] { exit_code = RunFits(*options); });
}

}  // namespace foretell::cli
