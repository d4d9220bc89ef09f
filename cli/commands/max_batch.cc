#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/flags/fit_flags.h"
#include "cli/flags/model_options.h"
#include "cli/flags/open_model.h"
#include "cli/flags/run_flags.h"
#include "foretell/fit.h"
#include "foretell/frontends.h"

namespace foretell::cli {
namespace {

constexpr char kMaxBatchExamples[] =
    "The largest batch that `foretell fits` accepts with the same flags. Exit\n"
    "status 1: not even batch 1 fits.\n"
    "Examples:\n"
    "  foretell max-batch model.onnx\n"
    "  foretell max-batch model.onnx --profile 2g.10gb --precision fp16\n"
    "  foretell max-batch model.onnx --mode training --optimizer adam\n"
    "  foretell max-batch model.onnx --max-latency 20";

struct MaxBatchOptions {
  ModelOptions model;
  PredictorFlags predictor;
  FitLimits limits;
  std::int64_t most = 65536;
};

ExitCode RunMaxBatch(const MaxBatchOptions& options) {
  const Predictor predictor = options.predictor.Make(options.model.run);
  const DeviceSpec& device = predictor.device();
  const std::string& profile = options.limits.profile;
  if (!profile.empty()) device.FindMigProfile(profile);
  options.model.WarnOfMissingLocks();
  const Program program =
      OpenModel(options.model.models.front(), options.model.ToLoadOptions());
  const std::int64_t best = LargestBatch(
      options.most,
      [&](std::int64_t batch) {
        const std::vector<BoundInput> inputs = BindInputs(
            program.inputs(), options.model.ToRequest(batch), program.name());
        return predictor.Predict(
            TraceProgram(program, inputs, options.model.ToTraceOptions())
                .graph);
      },
      device, options.limits);
  std::cout << best << "\n";
  if (best == options.most) {
    std::cerr << "foretell: note: batch " << best
              << " is the limit of the search (--limit)\n";
  }
  return best > 0 ? kExitOk : kExitDoesNotFit;
}

}  // namespace

void AddMaxBatch(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<MaxBatchOptions>();
  CLI::App* command = app.add_subcommand(
      "max-batch", "Largest batch size that fits a device or profile");
  command->footer(kMaxBatchExamples);
  options->model.AddTo(*command, /*many=*/false);
  options->predictor.AddTo(*command, options->model.run);
  AddFitFlags(*command, options->limits);
  command->add_option("--limit", options->most, "Largest batch to try")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->callback(
      [options, &exit_code] { exit_code = RunMaxBatch(*options); });
}

}  // namespace foretell::cli
