#include <CLI/CLI.hpp>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/command.h"
#include "cli/commands/training_progress.h"
#include "cli/flags/learning_flags.h"
#include "cli/flags/read_text.h"
#include "foretell/error.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "training/fit/fit_info.h"
#include "training/fit/rate_finder.h"
#include "training/fit/run_folder.h"
#include "training/fit/trainer.h"
#include "training/workers/connect_workers.h"

namespace foretell::cli {
namespace {

using training::Part;
using training::RunFolder;
using training::Trainer;

constexpr char kFlagsFile[] = "run.json";
constexpr char kRateTestFile[] = "learning_rate.html";

struct TrainCommand {
  SampleFlags samples;
  LearningFlags learning;
  std::string out;
  std::string resume;
  bool go_on = false;
  int worker_timeout_s = 600;
  bool find_rate = false;
  bool epochs_given = false;
  bool patience_given = false;
};

/// One run from its options to its last checkpoint.
class TrainingRun {
 public:
  TrainingRun(TrainCommand command, training::Communicator& workers)
      : command_(std::move(command)),
        workers_(workers),
        folder_(command_.resume.empty() ? command_.out : command_.resume,
                command_.resume.empty() && workers.IsFirst()) {}

  ExitCode Train() {
    const bool resumed = !command_.resume.empty();
    if (resumed) {
      command_.samples.FromJson(ReadText(folder_.File(kFlagsFile)),
                                folder_.File(kFlagsFile));
    }
    if (!resumed) options_ = command_.learning.ToOptions(command_.samples);
    opened_ = OpenSamples(command_.samples);
    data_.emplace(training::TrainingData{
        opened_.set, *opened_.store, opened_.set.PartOf(Part::kTrain),
        opened_.set.ForJudging(opened_.set.PartOf(Part::kValidation))});
    PrintSamples();
    if (resumed) {
      Resume();
    } else {
      Start();
    }
    return Go();
  }

 private:
  void PrintSamples() const {
    if (!workers_.IsFirst()) return;
    std::cerr << "training on " << data_->train.size() << " samples (";
    std::string separator;
    for (const auto& [provenance, count] :
         opened_.set.CountProvenance(data_->train)) {
      std::cerr << separator << count << " " << ProvenanceName(provenance);
      separator = ", ";
    }
    std::cerr << "), validating on " << data_->validation.size() << "\n";
    if (opened_.set.without_graph + opened_.set.without_prior > 0) {
      std::cerr << "left out: " << opened_.set.without_graph
                << " labels without a graph, " << opened_.set.without_prior
                << " figures without a prior\n";
    }
  }

  void Start() {
    options_.batch_size *= workers_.size();
    learned::CheckpointInfo info = FitInfo(
        options_, opened_.set, command_.samples.Targets(), data_->train);
    if (command_.find_rate) {
      const training::RateTest test =
          FindRate(options_, info, *data_, workers_);
      options_.learning_rate = test.suggested;
      if (workers_.IsFirst()) {
        WriteWhole(folder_.File(kRateTestFile), RateTestToHtml(test));
        std::cerr << "learning rate " << test.suggested << ", see "
                  << folder_.File(kRateTestFile) << "\n";
      }
    }
    if (workers_.IsFirst()) {
      WriteWhole(folder_.File(kFlagsFile), command_.samples.ToJson() + "\n");
      folder_.KeepMetrics(0);
    }
    trainer_ =
        std::make_unique<Trainer>(options_, std::move(info), *data_, workers_);
  }

  void Resume() {
    const std::string origin = folder_.last_path();
    training::SavedRun saved{.last = learned::ReadCheckpoint(origin),
                             .origin = origin};
    const bool has_best = std::filesystem::exists(folder_.best_path());
    saved.best =
        has_best ? learned::ReadCheckpoint(folder_.best_path()) : saved.last;
    options_ = training::OptionsOf(saved.last, origin);
    if (command_.epochs_given) {
      options_.epochs = command_.learning.options.epochs;
    }
    if (command_.patience_given) {
      options_.patience = command_.learning.options.patience;
    }
    if (workers_.IsFirst()) folder_.KeepMetrics(saved.last.info.epochs);
    trainer_ = std::make_unique<Trainer>(options_, saved, *data_, workers_);
  }

  ExitCode Go() {
    TrainingProgress progress(1, options_.epochs,
                              static_cast<std::int64_t>(data_->train.size()));
    training::TrainerHooks hooks = progress.HooksOf(0, "");
    if (!workers_.IsFirst()) hooks.on_batch = {};
    hooks.on_epoch = [this](const training::EpochMetrics& metrics) {
      if (workers_.IsFirst()) Write(metrics);
    };
    const training::RunEnd end = trainer_->Run(hooks);
    if (!workers_.IsFirst()) return CodeOf(end);
    WriteLast();
    PrintEnd(end);
    return CodeOf(end);
  }

  static ExitCode CodeOf(training::RunEnd end) {
    return end == training::RunEnd::kInterrupted ? kExitInterrupted : kExitOk;
  }

  void Write(const training::EpochMetrics& metrics) {
    if (metrics.is_best) {
      WriteWhole(folder_.best_path(), SerializeCheckpoint(trainer_->Best()));
    }
    WriteLast();
    folder_.AddMetrics(metrics);
    folder_.WriteCurves();
  }

  void WriteLast() const {
    WriteWhole(folder_.last_path(), SerializeCheckpoint(trainer_->Last()));
  }

  void PrintEnd(training::RunEnd end) const {
    if (end == training::RunEnd::kInterrupted) {
      std::cerr << "interrupted; go on with: foretell train --resume "
                << Printable(command_.out + command_.resume) << "\n";
      return;
    }
    const learned::CheckpointInfo info = trainer_->Best().info;
    std::cout << Printable(folder_.best_path()) << ": epoch " << info.epochs
              << (end == training::RunEnd::kStoppedEarly ? ", stopped early"
                                                         : "")
              << "\n";
    TextTable table({"target", "validation MAPE", "90 % of true / predicted"});
    for (const learned::CheckpointTarget& target : info.targets) {
      table.AddRow(
          {std::string(TargetName(target.scale.target)),
           target.validation_mape ? FormatPercent(*target.validation_mape, 2)
                                  : "-",
           target.interval
               ? FormatNumber(std::exp(target.interval->lo), 3) + " to " +
                     FormatNumber(std::exp(target.interval->hi), 3)
               : "-"});
    }
    std::cout << table.ToString();
  }

  TrainCommand command_;
  training::Communicator& workers_;
  RunFolder folder_;
  OpenedSamples opened_;
  std::optional<training::TrainingData> data_;
  training::TrainerOptions options_;
  std::unique_ptr<Trainer> trainer_;
};

/// With --continue, a run that is there is resumed: all workers do what the
/// first one sees, as it may be the only one yet to see the files.
void ContinueWhereThereIsARun(training::Communicator& workers,
                              TrainCommand& command) {
  const std::string last = command.out + "/last.safetensors";
  if (!workers.AsFirst(std::filesystem::exists(last))) return;
  command.resume = command.out;
  command.out.clear();
}

ExitCode RunTrain(TrainCommand command) {
  if (command.resume.empty() &&
      (command.out.empty() || command.samples.dataset.empty())) {
    throw Error(ErrorCode::kInvalidArgument,
                "train needs --dataset and --out, or --resume");
  }
  const std::unique_ptr<training::Communicator> workers =
      training::ConnectWorkers(std::chrono::seconds(command.worker_timeout_s));
  if (command.go_on) ContinueWhereThereIsARun(*workers, command);
  return TrainingRun(command, *workers).Train();
}

}  // namespace

void AddTrain(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<TrainCommand>();
  CLI::App* command = app.add_subcommand(
      "train", "Train a graph network on the labels of a dataset");
  options->samples.AddTo(*command, /*learning=*/true);
  options->learning.AddTo(*command, /*with_network=*/true);
  CLI::Option* out =
      command->add_option("--out", options->out, "Folder of the new run");
  command
      ->add_option("--resume", options->resume,
                   "Folder of a run to go on with; of the other flags only "
                   "--epochs, --patience, --dataset, --threads and "
                   "--cache-mib count")
      ->excludes(out);
  command->add_flag("--continue", options->go_on,
                    "Go on with the run in --out where there is one");
  command
      ->add_option("--worker-timeout", options->worker_timeout_s,
                   "Seconds that workers of torchrun wait for each other")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--find-lr", options->find_rate,
                    "Find the learning rate by Smith's range test");
  command->callback([options, command, &exit_code] {
    options->epochs_given = command->count("--epochs") > 0;
    options->patience_given = command->count("--patience") > 0;
    exit_code = RunTrain(*options);
  });
}

}  // namespace foretell::cli
