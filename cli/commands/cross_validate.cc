#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/training_progress.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/learning_flags.h"
#include "cli/flags/named_flag.h"
#include "cli/flags/sample_flags.h"
#include "src/core/output_file.h"
#include "training/fit/run_folder.h"
#include "training/judge/cross_validation.h"

namespace foretell::cli {
namespace {

using training::FoldKind;
using training::PredictedSample;

struct CrossValidateCommand {
  training::CrossValidationOptions options;
  LearningFlags learning;
  std::string checkpoint;
  bool json = false;
  bool markdown = false;
};

std::optional<std::vector<PredictedSample>> PredictFolds(
    const training::CrossValidation& validation,
    const training::CrossValidationOptions& options) {
  TrainingProgress progress(options.folds, options.trainer.epochs,
                            validation.samples_per_training());
  return validation.PredictFolds(
      [&progress](std::int64_t run, const std::string& name) {
        return progress.HooksOf(run, name);
      });
}

/// False when it was interrupted.
bool WriteFinal(const training::CrossValidation& validation,
                const std::vector<PredictedSample>& predictions,
                const CrossValidateCommand& command) {
  TrainingProgress progress(1, command.options.trainer.epochs,
                            std::ssize(validation.folds()));
  const std::optional<learned::Checkpoint> checkpoint =
      validation.TrainFinal(predictions, progress.HooksOf(0, "all samples "));
  if (!checkpoint) return false;
  WriteWhole(command.checkpoint, SerializeCheckpoint(*checkpoint));
  return true;
}

ExitCode RunCrossValidate(CrossValidateCommand command) {
  training::CrossValidationOptions& options = command.options;
  options.trainer = command.learning.ToOptions();
  FollowTerms(options.trainer.network.kind.terms, options.samples);
  const training::CrossValidation validation(options);
  const auto predictions = PredictFolds(validation, options);
  if (!predictions) return kExitInterrupted;
  if (!command.checkpoint.empty() &&
      !WriteFinal(validation, *predictions, command)) {
    return kExitInterrupted;
  }
  const training::Evaluation evaluation = validation.Judge(*predictions);
  std::cout << (command.json       ? EvaluationToJson(evaluation)
                : command.markdown ? EvaluationToMarkdown(evaluation)
                                   : EvaluationToText(evaluation));
  return kExitOk;
}

void AddFoldFlags(CLI::App& command,
                  training::CrossValidationOptions& options) {
  AddNamed(command, "--folds", options.kind,
           {FoldKind::kFamily, FoldKind::kModel, FoldKind::kRandom,
            FoldKind::kDevice, FoldKind::kGeneration, FoldKind::kSource},
           &training::FoldKindName, "Unit that a fold leaves out");
  AddDefaulted(command, "--k", options.folds, "Number of folds");
  AddDefaulted(command, "--fold-seed", options.seed,
               "Seed for the division into folds");
  command
      .add_option("--out", options.folder,
                  "Folder for results; folds already in it are not repeated")
      ->required();
}

}  // namespace

void AddCrossValidate(CLI::App& app, ExitCode& exit_code) {
  auto validate = std::make_shared<CrossValidateCommand>();
  validate->options.samples.split = training::kNoSplit;
  CLI::App* command =
      app.add_subcommand("cross-validate",
                         "Predict every sample with a network trained without "
                         "its family, network, point, device, generation or "
                         "source");
  AddLabelFlags(*command, validate->options.samples);
  AddInputFlags(*command, validate->options.samples);
  validate->learning.AddTo(*command, /*with_network=*/true);
  AddFoldFlags(*command, validate->options);
  command->add_option("--checkpoint", validate->checkpoint,
                      "Train on all samples too and write this file, with the "
                      "intervals of the folds");
  command->add_flag("--json", validate->json, "JSON document on stdout");
  command->add_flag("--markdown", validate->markdown, "Tables in Markdown");
  command->callback(
      [validate, &exit_code] { exit_code = RunCrossValidate(*validate); });
}

}  // namespace foretell::cli
