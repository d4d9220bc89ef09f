#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>

#include "cli/commands/dataset.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/number_checks.h"
#include "cli/flags/open_model.h"
#include "cli/flags/run_flags.h"
#include "datasets/collect/fill.h"
#include "datasets/collect/plan_sweep.h"
#include "datasets/collect/simulate_point.h"
#include "datasets/collect/trace_point.h"
#include "datasets/store/label_graphs.h"
#include "foretell/dataset.h"
#include "foretell/predictor.h"
#include "foretell/session.h"
#include "src/graph/setting.h"

namespace foretell::cli {
namespace {

struct SimulateCommand {
  std::string dataset;
  Run run;  ///< Without the step: each graph states its own.
  PredictorFlags predictor;
  std::string shard = "1/1";
  int jobs = DefaultJobs();
};

std::string SourceOf(const SimulateCommand& command) {
  return dataset::SimulationSource(command.run, command.predictor.method,
                                   !command.predictor.checkpoints.empty());
}

/// The graph of a point under the run of `setting`: the stored one if there is
/// one, else a new trace.
OperatorGraph GraphOf(const StoredPoint& stored, const std::string& setting,
                      const Dataset& dataset,
                      const dataset::LabelGraphs& graphs) {
  const Point& point = stored.point;
  const RowId graph = graphs.Of(stored, dataset::RunOfPoint(point, setting));
  if (graph != 0) return dataset.Graph(graph);
  const Session session(
      OpenModel(dataset::ModelNameOf(point)),
      {.inputs = {.inputs = dataset::InputsOf(point)},
       .options = {.run = dataset::TracedRun(point, setting)}});
  return session.Graph();
}

ExitCode RunSimulate(const SimulateCommand& command) {
  const Predictor predictor = command.predictor.Make(command.run);
  const std::string setting = dataset::SimulationSetting(
      command.run, predictor.host(), predictor.context().name);
  Dataset dataset = Dataset::OpenForWriting(command.dataset);
  const ProgressOnTerminal progress;
  // Each worker opens the file for itself, once it is one.
  std::optional<Dataset> read;
  const dataset::LabelGraphs graphs(dataset);
  const std::string run = Setting(command.run).ToJson();
  const dataset::FillSummary summary = dataset::FillLabels(
      dataset, dataset,
      [&](const dataset::LabelTask& task) {
        if (!read) read.emplace(Dataset::Open(command.dataset));
        return dataset::LabelOf(
            predictor.Predict(GraphOf(task.point, run, *read, graphs)),
            predictor.device(), setting);
      },
      {.device = predictor.device().name,
       .source = SourceOf(command),
       .provenance = Provenance::kSimulated,
       .setting = setting,
       .shard = dataset::ParseShard(command.shard),
       .needs_graph = true,
       .workers = command.jobs,
       .progress = progress.function()});
  return PrintSummary(summary);
}

}  // namespace

void AddDatasetSimulate(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<SimulateCommand>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Fill in missing labels with predictions, marked simulated");
  command->add_option("DATASET", options->dataset, "Dataset")->required();
  options->predictor.AddTo(*command, options->run);
  AddDefaulted(*command, "--shard", options->shard, "Part of the points: 2/8");
  AddDefaulted(*command, "-j,--jobs", options->jobs, "Worker processes",
               AboveZero());
  command->callback(
      [options, &exit_code] { exit_code = RunSimulate(*options); });
}

}  // namespace foretell::cli
