#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/training_progress.h"
#include "cli/flags/learning_flags.h"
#include "foretell/error.h"
#include "foretell/version.h"
#include "src/core/output_file.h"
#include "training/fit/run_folder.h"
#include "training/judge/evaluation.h"
#include "training/judge/folds.h"
#include "training/judge/result_cache.h"

namespace foretell::cli {
namespace {

using training::PredictedSample;

struct CrossValidateCommand {
  SampleFlags samples;
  LearningFlags learning;
  std::string kind = "family";
  int folds = 8;
  std::uint64_t fold_seed = 0;
  std::string out;
  std::string checkpoint;
  bool json = false;
  bool markdown = false;
};

nlohmann::json ToJson(const std::vector<PredictedSample>& predictions) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PredictedSample& one : predictions) {
    nlohmann::json row = {one.sample};
    for (const double value : one.predicted) {
      row.push_back(learned::IsKnown(value) ? nlohmann::json(value)
                                            : nlohmann::json(nullptr));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<PredictedSample> FromJson(const nlohmann::json& rows,
                                      const training::SampleSet& set) {
  std::vector<PredictedSample> predictions;
  for (const nlohmann::json& row : rows) {
    PredictedSample one{.sample = row.at(0)};
    one.truth = set.samples.at(one.sample).targets;
    for (std::size_t i = 0; i < one.predicted.size(); ++i) {
      const nlohmann::json& value = row.at(i + 1);
      if (!value.is_null()) one.predicted[i] = value.get<double>();
    }
    predictions.push_back(one);
  }
  return predictions;
}

class CrossValidation {
 public:
  explicit CrossValidation(CrossValidateCommand command)
      : command_(std::move(command)),
        options_(command_.learning.ToOptions(command_.samples)),
        opened_(OpenSamples(command_.samples)),
        folds_(AssignFolds(opened_.set, *training::ParseFoldKind(command_.kind),
                           command_.folds, command_.fold_seed)),
        cache_(command_.out + "/folds",
               {{"version", kVersion},
                {"samples", nlohmann::json::parse(command_.samples.ToJson())},
                {"folds", folds_},
                {"options", TrainerOptionsToJson(options_)}}) {}

  ExitCode Run() {
    const auto per_fold =
        std::ssize(folds_) * (command_.folds - 1) / command_.folds;
    TrainingProgress progress(command_.folds, options_.epochs, per_fold);
    std::vector<PredictedSample> pooled;
    for (int fold = 0; fold < command_.folds; ++fold) {
      const std::string name = "fold " + std::to_string(fold) + " ";
      const auto predictions = Predict(fold, progress.HooksOf(fold, name));
      if (!predictions) return kExitInterrupted;
      pooled.insert(pooled.end(), predictions->begin(), predictions->end());
    }
    if (!command_.checkpoint.empty() && !TrainFinal(pooled)) {
      return kExitInterrupted;
    }
    Print(CrossConformal(pooled, folds_, command_.folds));
    return kExitOk;
  }

 private:
  training::FoldTraining Training() const {
    return {.options = options_,
            .targets = command_.samples.Targets(),
            .set = opened_.set,
            .store = *opened_.store};
  }

  std::optional<std::vector<PredictedSample>> Predict(
      int fold, const training::TrainerHooks& hooks) {
    const std::string name = "fold-" + std::to_string(fold);
    if (const auto found = cache_.Find(name))
      return FromJson(*found, opened_.set);
    const auto predictions = PredictFold(Training(), folds_, fold, hooks);
    if (predictions) cache_.Put(name, ToJson(*predictions));
    return predictions;
  }

  /// False when it was interrupted.
  bool TrainFinal(const std::vector<PredictedSample>& predictions) {
    TrainingProgress progress(1, options_.epochs, std::ssize(folds_));
    std::optional<learned::Checkpoint> checkpoint = TrainOnAll(
        Training(), predictions, progress.HooksOf(0, "all samples "));
    if (!checkpoint) return false;
    checkpoint->info.environment["judged_by"] =
        std::to_string(command_.folds) + " folds by " + command_.kind;
    WriteWhole(command_.checkpoint, SerializeCheckpoint(*checkpoint));
    return true;
  }

  void Print(const std::vector<PredictedSample>& predictions) const {
    const std::vector<learned::Target> targets = command_.samples.Targets();
    training::Evaluation evaluation =
        Evaluate(opened_.set, predictions, targets, KnownDevice(opened_));
    evaluation.method =
        command_.learning.network + " " +
        std::to_string(options_.network.hidden) +
        (opened_.set.recipe.prior.empty() ? ""
                                          : " x " + opened_.set.recipe.prior) +
        ", " + std::to_string(options_.epochs) + " epochs";
    evaluation.dataset = command_.samples.dataset;
    evaluation.selection = "each sample predicted without its " +
                           command_.kind + ", " +
                           std::to_string(command_.folds) + " folds";
    const auto write = [this](const char* name, const std::string& text) {
      WriteWhole(command_.out + "/" + name, text);
    };
    write("predictions.csv",
          PredictionsToCsv(opened_.set, predictions, targets));
    write("evaluation.txt", EvaluationToText(evaluation));
    write("evaluation.md", EvaluationToMarkdown(evaluation));
    write("evaluation.json", EvaluationToJson(evaluation));
    std::cout << (command_.json       ? EvaluationToJson(evaluation)
                  : command_.markdown ? EvaluationToMarkdown(evaluation)
                                      : EvaluationToText(evaluation));
  }

  CrossValidateCommand command_;
  training::TrainerOptions options_;
  OpenedSamples opened_;
  std::vector<int> folds_;
  training::ResultCache cache_;
};

}  // namespace

void AddCrossValidate(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<CrossValidateCommand>();
  options->samples.split = "none";
  CLI::App* command =
      app.add_subcommand("cross-validate",
                         "Predict every sample by a network that has not seen "
                         "its family, network, point or device");
  options->samples.AddTo(*command, /*learning=*/true);
  options->learning.AddTo(*command, /*with_network=*/true);
  command->add_option("--folds", options->kind, "What is left out together")
      ->check(CLI::IsMember({"family", "model", "random", "device"}))
      ->capture_default_str();
  command->add_option("--k", options->folds, "Number of folds")
      ->capture_default_str();
  command
      ->add_option("--fold-seed", options->fold_seed,
                   "Seed of the division into folds")
      ->capture_default_str();
  command
      ->add_option("--out", options->out,
                   "Folder of the results; folds in it are not repeated")
      ->required();
  command->add_option("--checkpoint", options->checkpoint,
                      "Train on all samples too and write this file, with the "
                      "intervals of the folds");
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->add_flag("--markdown", options->markdown, "Tables in Markdown");
  command->callback(
      [options, &exit_code] { exit_code = CrossValidation(*options).Run(); });
}

}  // namespace foretell::cli
