#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "datasets/labels/fill.h"
#include "foretell/dataset.h"
#include "foretell/mig.h"
#include "foretell/predictor.h"
#include "src/cli/dataset.h"
#include "src/cli/model_options.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

constexpr char kSource[] = "foretell analytic";

struct SimulateCommand {
  std::string dataset;
  TargetOptions target;
  std::string shard = "1/1";
  int jobs = DefaultJobs();
};

/// Memory stands even where the step does not fit; time and energy of a run
/// that cannot happen do not.
Label LabelOf(const Prediction& prediction, const DeviceSpec& device,
              const std::string& environment) {
  Label label{.environment = environment};
  label.memory_mib = ToMiB(prediction.memory.total);
  label.allocated_mib = ToMiB(prediction.memory.allocated_peak);
  label.reserved_mib = ToMiB(prediction.memory.reserved_peak);
  const auto usable = static_cast<double>(device.usable_mib);
  if (!mig::FitsMemory(*label.memory_mib, usable)) {
    label.status = LabelStatus::kOutOfMemory;
    label.reason = "needs " + std::to_string(*label.memory_mib) + " MiB of " +
                   std::to_string(usable);
    return label;
  }
  label.latency_ms = prediction.latency_ms;
  label.energy_j = prediction.energy_j;
  return label;
}

std::string EnvironmentOf(const SimulateCommand& command,
                          const Target& target) {
  return nlohmann::json{{"environment", target.environment.name},
                        {"host", command.target.host}}
      .dump();
}

ExitCode RunSimulate(const SimulateCommand& command) {
  const Target target = Resolve(command.target);
  const Predictor predictor = MakePredictor(command.target, target);
  const std::string environment = EnvironmentOf(command, target);
  Dataset dataset = Dataset::OpenForWriting(command.dataset);
  const ProgressOnTerminal progress;
  // Each worker opens the file for itself, once it is one.
  std::optional<Dataset> read;
  const dataset::FillSummary summary = dataset::FillLabels(
      dataset, dataset,
      [&](const dataset::LabelTask& task) {
        if (!read) read.emplace(Dataset::Open(command.dataset));
        return LabelOf(predictor.Predict(read->Graph(task.point.graph)),
                       target.device, environment);
      },
      {.device = target.device.name,
       .source = kSource,
       .provenance = Provenance::kSimulated,
       .environment = environment,
       .shard = dataset::ParseShard(command.shard),
       .needs_graph = true,
       .workers = command.jobs,
       .progress = progress.function()});
  return PrintFilled(summary);
}

}  // namespace

void AddDatasetSimulate(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<SimulateCommand>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Fill in labels from the analytic model, marked simulated");
  command->add_option("DATASET", options->dataset, "Dataset")->required();
  options->target.AddTo(*command);
  command->add_option("--shard", options->shard, "Part of the points: 2/8")
      ->capture_default_str();
  command->add_option("-j,--jobs", options->jobs, "Worker processes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->callback(
      [options, &exit_code] { exit_code = RunSimulate(*options); });
}

}  // namespace foretell::cli
