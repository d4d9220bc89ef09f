#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/dataset.h"
#include "cli/flags/list_sweep.h"
#include "cli/flags/open_model.h"
#include "cli/flags/run_flags.h"
#include "datasets/collect/fill.h"
<<<<<<< HEAD
#include "datasets/collect/trace_point.h"
    =======
#include "datasets/collect/simulate_point.h"
    >>>>>>> a50870c (Move what the command computes to the libraries)
#include "foretell/dataset.h"
#include "foretell/predictor.h"
    <<<<<<< HEAD
#include "foretell/trace.h"
#include "src/core/units.h"
#include "src/graph/setting.h"
    =======
>>>>>>> a50870c (Move what the command computes to the libraries)

    namespace foretell::cli {
  namespace {

  struct SimulateCommand {
    std::string dataset;
    Run run;  ///< Without the step: each graph states its own.
    PredictorFlags predictor;
    std::string shard = "1/1";
    int jobs = DefaultJobs();
  };

<<<<<<< HEAD
  /// Memory stands even where the step does not fit; time and energy of a run
  /// that cannot happen do not.
  Label LabelOf(const Prediction& prediction, const DeviceSpec& device,
                const std::string& setting) {
    Label label{.setting = setting};
    label.memory_mib = prediction[Target::kMemory].value;
    label.allocated_mib = ToMiB(prediction.memory.allocated_peak);
    label.reserved_mib = ToMiB(prediction.memory.reserved_peak);
    const auto usable = static_cast<double>(device.usable_mib);
    if (!mig::FitsMemory(*label.memory_mib, usable)) {
      label.status = LabelStatus::kOutOfMemory;
      label.reason = "needs " + std::to_string(*label.memory_mib) + " MiB of " +
                     std::to_string(usable);
      return label;
    }
    label.latency_ms = prediction[Target::kLatency].value;
    label.energy_j = prediction[Target::kEnergy].value;
    return label;
  }

  /// Whether a figure may have been learned.
  bool MayBeLearned(const SimulateCommand& command) {
    if (!command.predictor.checkpoints.empty()) return true;
    if (command.predictor.method == Method::kAuto) return command.run.autocast;
    return command.predictor.method == Method::kLearned;
  }

  std::string SettingOf(const SimulateCommand& command,
                        const Predictor& predictor) {
    const bool is_plain = !command.run.autocast && !command.run.grad_mode;
    Setting setting = is_plain ? Setting() : Setting(command.run);
    setting.Set("environment", predictor.context().name);
    setting.Set("host", std::string(HostName(command.run.host)));
    return setting.ToJson();
=======
  std::string SourceOf(const SimulateCommand& command) {
    return dataset::SimulationSource(command.run, command.predictor.method,
                                     !command.predictor.checkpoints.empty());
>>>>>>> a50870c (Move what the command computes to the libraries)
  }

  std::string SourceOf(const SimulateCommand& command) {
    const std::string source =
        MayBeLearned(command) ? kLearnedSource : kAnalyticSource;
    return command.run.grad_mode ? source + " --grad" : source;
  }

  /// The point's graph. Inferences in a dataset are those under no_grad; in
  /// grad mode they are traced anew.
  OperatorGraph GraphOf(const StoredPoint& stored, const Run& run,
                        const Dataset& dataset) {
    const Point& point = stored.point;
    if (!run.grad_mode || point.mode == Mode::kTraining) {
      return dataset.Graph(stored.graph);
    }
    return TraceProgram(OpenModel(ModelNameOf(point)), dataset::InputsOf(point),
                        {.precision = point.precision, .grad_mode = true})
        .graph;
  }

  ExitCode RunSimulate(const SimulateCommand& command) {
    const Predictor predictor = command.predictor.Make(command.run);
    const std::string setting =
        dataset::SimulationSetting(command.run, predictor.context().name);
    Dataset dataset = Dataset::OpenForWriting(command.dataset);
    const ProgressOnTerminal progress;
    // Each worker opens the file for itself, once it is one.
    std::optional<Dataset> read;
    const dataset::FillSummary summary = dataset::FillLabels(
        dataset, dataset,
        [&](const dataset::LabelTask& task) {
          if (!read) read.emplace(Dataset::Open(command.dataset));
<<<<<<< HEAD
          const OperatorGraph graph = GraphOf(task.point, command.run, *read);
          return LabelOf(predictor.Predict(graph), predictor.device(), setting);
=======
          return dataset::LabelOf(
              predictor.Predict(read->Graph(task.point.graph)),
              predictor.device(), setting);
>>>>>>> a50870c (Move what the command computes to the libraries)
        },
        {.device = predictor.device().name,
         .source = SourceOf(command),
         .provenance = Provenance::kSimulated,
         .setting = setting,
         .shard = dataset::ParseShard(command.shard),
         .needs_graph = true,
         .workers = command.jobs,
         .progress = progress.function()});
    return PrintFilled(summary);
  }

  }  // namespace

  void AddDatasetSimulate(CLI::App & app, ExitCode & exit_code) {
    auto options = std::make_shared<SimulateCommand>();
    CLI::App* command = app.add_subcommand(
        "simulate", "Fill in labels from predictions, marked simulated");
    command->add_option("DATASET", options->dataset, "Dataset")->required();
    options->predictor.AddTo(*command, options->run);
    command->add_option("--shard", options->shard, "Part of the points: 2/8")
        ->capture_default_str();
    command->add_option("-j,--jobs", options->jobs, "Worker processes")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->callback(
        [options, &exit_code] { exit_code = RunSimulate(*options); });
  }

}  // namespace foretell::cli
