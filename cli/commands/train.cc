#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/training_progress.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/learning_flags.h"
#include "cli/flags/number_checks.h"
#include "cli/flags/sample_flags.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text.h"
#include "src/core/text_table.h"
#include "training/fit/training_run.h"
#include "training/workers/connect_workers.h"

namespace foretell::cli {
namespace {

using training::RunEnd;
using training::TrainingRun;

struct TrainCommand {
  training::TrainingRunOptions options;
  LearningFlags learning;
  std::string out;
  std::string resume;
  bool go_on = false;
  int worker_timeout_s = 600;
};

void PrintSamples(const TrainingRun& run) {
  std::vector<std::string> counts;
  for (const auto& [provenance, count] :
       run.set().CountProvenance(run.data().train)) {
    counts.push_back(fmt::format("{} {}", count, ProvenanceName(provenance)));
  }
  std::cerr << fmt::format("training on {} ({}), validating on {}\n",
                           Counted(run.data().train.size(), "sample"),
                           Joined(counts), run.data().validation.size());
  const training::SampleSet& set = run.set();
  if (set.without_graph + set.without_prior > 0) {
    std::cerr << fmt::format(
        "left out: {} without a graph, {} without a prior\n",
        Counted(set.without_graph, "label"),
        Counted(set.without_prior, "figure"));
  }
}

std::string IntervalText(const learned::CheckpointTarget& target) {
  if (!target.interval) return "-";
  return fmt::format("{} to {}", FormatNumber(std::exp(target.interval->lo), 3),
                     FormatNumber(std::exp(target.interval->hi), 3));
}

void PrintEnd(const TrainingRun& run, RunEnd end) {
  const learned::CheckpointInfo info = run.BestInfo();
  std::cout << fmt::format(
      "{}: epoch {}{}\n", Printable(run.folder().best_path()), info.epochs,
      end == RunEnd::kStoppedEarly ? ", stopped early" : "");
  if (run.data().validation.empty()) {
    std::cout << "no validation samples: errors and intervals are unknown\n";
    return;
  }
  TextTable table({"target", "validation MAPE", "90 % of true / predicted"});
  for (const learned::CheckpointTarget& target : info.targets) {
    table.AddRow({std::string(TargetName(target.scale.target)),
                  target.validation_mape
                      ? FormatPercent(*target.validation_mape, 2)
                      : "-",
                  IntervalText(target)});
  }
  std::cout << table.ToString();
}

training::TrainingRunOptions OptionsOf(TrainCommand& command,
                                       training::Communicator& workers) {
  training::TrainingRunOptions& options = command.options;
  const bool goes_on = command.go_on && HasRun(command.out, workers);
  options.resume = goes_on || !command.resume.empty();
  options.folder = command.resume.empty() ? command.out : command.resume;
  if (!options.resume) {
    options.trainer = command.learning.ToOptions();
    FollowTerms(options.trainer.network.kind.terms, options.samples);
  }
  return options;
}

ExitCode RunTrain(TrainCommand command) {
  if (command.resume.empty() &&
      (command.out.empty() || command.options.samples.dataset.empty())) {
    throw InvalidArgument("train needs --dataset and --out, or --resume");
  }
  const std::unique_ptr<training::Communicator> workers =
      training::ConnectWorkers(std::chrono::seconds(command.worker_timeout_s));
  TrainingRun run(OptionsOf(command, *workers), *workers);
  const bool prints = workers->IsFirst();
  if (prints) PrintSamples(run);
  const std::optional<training::RateTest> test = run.Prepare();
  if (prints && test) {
    std::cerr << "learning rate " << test->suggested << ", see "
              << run.rate_test_path() << "\n";
  }
  TrainingProgress progress(1, run.epochs(), std::ssize(run.data().train));
  training::TrainerHooks hooks = progress.HooksOf(0, "");
  if (!prints) hooks.on_batch = {};
  const RunEnd end = run.Run(hooks);
  if (prints && end != RunEnd::kInterrupted) PrintEnd(run, end);
  if (prints && end == RunEnd::kInterrupted) {
    std::cerr << "interrupted; continue with: foretell train --resume "
              << Printable(run.folder().path()) << "\n";
  }
  return end == RunEnd::kInterrupted ? kExitInterrupted : kExitOk;
}

void AddRunFlags(CLI::App& command, TrainCommand& train) {
  CLI::Option* out =
      command.add_option("--out", train.out, "Folder for the new run");
  command
      .add_option(
          "--resume", train.resume,
          "Folder of a run to continue; with it only --epochs, --patience, "
          "--dataset, --threads and --cache-mib have an effect")
      ->excludes(out);
  command.add_flag("--continue", train.go_on,
                   "Continue the run in --out if there is one");
  AddDefaulted(command, "--worker-timeout", train.worker_timeout_s,
               "Seconds that torchrun workers wait for each other",
               AboveZero());
  command.add_flag("--find-lr", train.options.find_rate,
                   "Find the learning rate with Smith's range test");
}

}  // namespace

void AddTrain(CLI::App& app, ExitCode& exit_code) {
  auto train = std::make_shared<TrainCommand>();
  CLI::App* command = app.add_subcommand(
      "train", "Train a graph network on the labels of a dataset");
  AddLabelFlags(*command, train->options.samples);
  AddInputFlags(*command, train->options.samples);
  train->learning.AddTo(*command, /*with_network=*/true);
  AddRunFlags(*command, *train);
  command->callback([train, command, &exit_code] {
    const training::TrainerOptions& given = train->learning.options;
    if (command->count("--epochs") > 0) train->options.epochs = given.epochs;
    if (command->count("--patience") > 0) {
      train->options.patience = given.patience;
    }
    exit_code = RunTrain(*train);
  });
}

}  // namespace foretell::cli
