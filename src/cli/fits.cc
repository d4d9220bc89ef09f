#include <CLI/CLI.hpp>

#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include "foretell/predictor.h"
#include "src/cli/command.h"
#include "src/cli/model_options.h"
#include "src/cli/numbers.h"
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
  TargetOptions target;
  std::string profile;
  double max_memory_mib = std::numeric_limits<double>::infinity();
  double max_latency_ms = std::numeric_limits<double>::infinity();
  double max_energy_j = std::numeric_limits<double>::infinity();
  bool strict = false;
};

/// Prints one judged quantity and returns whether it is within its limit.
bool Judge(const std::string& what, double value, double limit,
           const std::string& unit) {
  if (limit == std::numeric_limits<double>::infinity()) return true;
  const bool within = value <= limit;
  std::cout << "  " << what << " " << FormatSignificant(value) << " " << unit
            << (within ? " <= " : " > ") << FormatSignificant(limit) << " "
            << unit << "\n";
  return within;
}

/// The verdict on the profile that is asked for, or on the whole device.
mig::Verdict FindVerdict(const mig::Recommendation& recommendation,
                         const std::string& profile) {
  if (profile.empty()) return recommendation.whole_device;
  for (const mig::Verdict& verdict : recommendation.profiles) {
    if (verdict.profile == profile) return verdict;
  }
  return {};
}

bool Judge(const FitsOptions& options, const Target& target,
           const std::string& name, const Prediction& prediction) {
  const mig::Recommendation recommendation =
      mig::Recommend(ToDemand(prediction, name), target.device,
                     {.include_media_extensions = true});
  const mig::Verdict verdict = FindVerdict(recommendation, options.profile);
  // Slices slow a network down; the interval stretches with its estimate.
  const double slower =
      options.strict ? prediction.latency_interval_ms.hi / prediction.latency_ms
                     : 1.0;
  const double hungrier =
      options.strict ? prediction.energy_interval_j.hi / prediction.energy_j
                     : 1.0;
  std::cout << Printable(name) << " on "
            << (options.profile.empty() ? target.device.name
                                        : target.device.name + " " +
                                              options.profile)
            << ":\n";
  bool fits = Judge("memory at most", prediction.memory_mib.hi,
                    static_cast<double>(verdict.usable_mib), "MiB");
  fits &= Judge("memory at most", prediction.memory_mib.hi,
                options.max_memory_mib, "MiB");
  fits &= Judge("latency", verdict.latency_ms * slower, options.max_latency_ms,
                "ms");
  fits &=
      Judge("energy", verdict.energy_j * hungrier, options.max_energy_j, "J");
  std::cout << (fits ? "  fits\n" : "  does not fit\n");
  return fits;
}

ExitCode RunFits(const FitsOptions& options) {
  const Target target = Resolve(options.target);
  if (!options.profile.empty()) target.device.FindMigProfile(options.profile);
  const Predictor predictor = MakePredictor(options.target, target);
  bool all_fit = true;
  const std::vector<ReportError> errors = ForEachTrace(
      options.model, [&](const Program& program, const Trace& trace) {
        all_fit &= Judge(options, target, program.name(),
                         predictor.Predict(trace.graph));
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
  options->target.AddTo(*command);
  command->add_option("--profile", options->profile,
                      "MIG profile instead of the whole device");
  command->add_option("--max-memory", options->max_memory_mib, "MiB")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--max-latency", options->max_latency_ms,
                   "ms per batch or step")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--max-energy", options->max_energy_j, "J per batch or step")
      ->check(CLI::PositiveNumber);
  command->add_flag("--strict", options->strict,
                    "Judge latency and energy by their upper ends, too");
  command->callback([options, &exit_code] { exit_code = RunFits(*options); });
}

}  // namespace foretell::cli
