#include "cli/flags/defaulted_flag.h"
#include "cli/flags/number_checks.h"
#include "datasets/collect/generate.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/dataset.h"
#include "cli/flags/model_options.h"
#include "cli/flags/open_model.h"
#include "datasets/collect/plan_sweep.h"
#include "datasets/collect/trace_point.h"
#include "foretell/dataset.h"

namespace foretell::cli {
namespace {

constexpr char kDatasetGenerateExamples[] =
    "Examples:\n"
    "  foretell dataset generate --sweep dippm --out d.sqlite\n"
    "  foretell dataset generate --files models/ --batch 1,8,32 --out "
    "d.sqlite\n"
    "  foretell dataset generate --files traces/ --mode training "
    "--input-table truth.csv --out d.sqlite";

struct GenerateCommand {
  ModelOptions model;
  std::string sweep;
  std::vector<std::string> files;  ///< Paths, in addition to model.models.
  std::string out;
  std::string shard = "1/1";
  std::string input_table;
  std::string batches_from;
  dataset::GenerateOptions run;
};

std::vector<Point> PlanOf(const GenerateCommand& command) {
  dataset::PlanOptions options{.batches = command.model.batches,
                               .mode = command.model.run.mode,
                               .precision = command.model.run.precision,
                               .optimizer = {},
                               .dims = command.model.dims};
  if (options.mode == Mode::kTraining) {
    options.optimizer = OptimizerName(command.model.run.optimizer);
  }
  dataset::PlanSources sources{.sweep = command.sweep,
                               .paths = command.files,
                               .batches_from = command.batches_from};
  sources.paths.insert(sources.paths.end(), command.model.models.begin(),
                       command.model.models.end());
  return PlanAll(sources, std::move(options));
}

dataset::TraceSetup SetupOf(const GenerateCommand& command) {
  const LoadOptions load = command.model.ToLoadOptions();
  InputRequest request = command.model.ToRequest(std::nullopt);
  dataset::TraceSetup setup{.open =
                                [load](const Point& point) {
                                  return OpenModel(dataset::ModelNameOf(point),
                                                   load);
                                },
                            .inputs = {},
                            .dims = std::move(request.dims),
                            .device = command.model.DeviceOfTrace()};
  if (!command.input_table.empty()) {
    setup.inputs = dataset::ReadInputTable(command.input_table);
  }
  if (!request.inputs.empty()) setup.inputs[""] = std::move(request.inputs);
  return setup;
}

/// Traces points with one tracer, which keeps the last model open.
dataset::TraceFunction TraceWith(dataset::TraceSetup setup) {
  auto tracer = std::make_shared<dataset::PointTracer>(std::move(setup));
  return [tracer](const Point& point, const std::string& run) {
    return tracer->Trace(point, run);
  };
}

ExitCode RunGenerate(GenerateCommand& command) {
  command.model.WarnOfMissingLocks();
  const std::vector<Point> plan =
      TakeShard(PlanOf(command), dataset::ParseShard(command.shard));
  const dataset::TraceFunction trace = TraceWith(SetupOf(command));
  Dataset dataset = Dataset::OpenOrCreate(command.out);
  const ProgressOnTerminal progress;
  command.run.progress = progress.function();
  return PrintSummary(Generate(dataset, plan, trace, command.run));
}

struct TraceCommand {
  std::string dataset;
  std::string files;  ///< Folder of the model files; empty: their own paths.
  dataset::GenerateOptions run;
};

ExitCode RunTrace(TraceCommand& command) {
  const dataset::TraceFunction trace =
      TraceWith({.open =
                     [folder = command.files](Point point) {
                       if (!folder.empty() && !point.path.empty()) {
                         const std::filesystem::path path = point.path;
                         point.path = folder / path.filename();
                       }
                       return OpenModel(dataset::ModelNameOf(point));
                     },
                 .inputs = {},
                 .dims = {}});
  Dataset dataset = Dataset::OpenForWriting(command.dataset);
  const ProgressOnTerminal progress;
  command.run.progress = progress.function();
  return PrintSummary(TraceLabelRuns(dataset, trace, command.run));
}

/// How many processes trace, and when they give up.
void AddTraceFlags(CLI::App& command, dataset::GenerateOptions& run) {
  run.workers = DefaultJobs();
  AddDefaulted(command, "-j,--jobs", run.workers, "Worker processes",
               AboveZero());
  AddDefaulted(command, "--attempts", run.max_attempts,
               "Total attempts before a point is skipped", AboveZero());
  AddDefaulted(command, "--deadline", run.deadline_s,
               "Time limit of one trace in seconds", AboveZero());
  AddDefaulted(command, "--commit-every", run.commit_every_s,
               "Seconds between commits: the most work that a crash can lose",
               FromZero());
  command.add_flag("--retry", run.retry_given_up,
                   "Retry points that were skipped after too many failures");
}

}  // namespace

void AddDatasetGenerate(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = app.add_subcommand(
      "generate",
      "Trace models into a dataset; points already traced are skipped");
  command->footer(kDatasetGenerateExamples);
  options->model.AddTo(*command, /*many=*/true, /*with_loop=*/false);
  command->get_option("MODEL")->required(false);
  command->add_option("--sweep", options->sweep, "Networks of the zoo: dippm");
  command->add_option("--files", options->files,
                      "Model files or folders of them");
  command->add_option("-o,--out", options->out, "Dataset; created if missing")
      ->required();
  AddDefaulted(*command, "--shard", options->shard,
               "Part of the models for one worker, e.g. 2/8");
  command->add_option("--input-table", options->input_table,
                      "CSV with the columns model and input (3x224x224), for "
                      "files that do not state input shapes");
  command
      ->add_option("--batches-from", options->batches_from,
                   "CSV with the columns model and batch; restricts the run to "
                   "these points")
      ->excludes("--batch");
  AddTraceFlags(*command, options->run);
  command->callback([options, &exit_code] {
    exit_code = AnswerForModels(options->model.models,
                                [&] { return RunGenerate(*options); });
  });
}

void AddDatasetTrace(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<TraceCommand>();
  CLI::App* command = app.add_subcommand(
      "trace",
      "Trace points with the run settings of their labels: autocast, grad "
      "mode, an older PyTorch; points already traced are skipped");
  command->footer(
      "Examples:\n"
      "  foretell dataset trace d.sqlite");
  command->add_option("DATASET", options->dataset, "Dataset")->required();
  command->add_option("--files", options->files,
                      "Current folder of the model files; default: their "
                      "location when the dataset was generated");
  AddTraceFlags(*command, options->run);
  command->callback([options, &exit_code] { exit_code = RunTrace(*options); });
}

}  // namespace foretell::cli
