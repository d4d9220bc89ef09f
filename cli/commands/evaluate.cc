#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/command.h"
#include "cli/flags/sample_flags.h"
#include "foretell/error.h"
#include "src/core/output_file.h"
#include "src/predict/learned_model.h"
#include "training/fit/compute_device.h"
#include "training/fit/predict_samples.h"
#include "training/fit/run_folder.h"
#include "training/judge/evaluation.h"

namespace foretell::cli {
namespace {

struct EvaluateCommand {
  SampleFlags samples;
  std::string checkpoint;
  bool analytic = false;
  bool prior_from_labels = false;
  std::string part = "test";
  std::string compute = "cpu";
  std::string csv;
  bool json = false;
  bool markdown = false;
};

std::string MethodOf(const learned::CheckpointInfo& info) {
  const std::string network(NetworkKindName(info.network.kind));
  return network + " " + std::to_string(info.network.hidden) +
         (info.recipe.prior.empty() ? "" : " x " + info.recipe.prior);
}

std::vector<std::size_t> Chosen(const EvaluateCommand& command,
                                const training::SampleSet& set) {
  const bool all = command.samples.split == "none";
  std::vector<std::size_t> indices = set.ForJudging(set.PartOf(
      all ? training::Part::kTrain : *training::ParsePart(command.part)));
  if (indices.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                command.samples.dataset + ": no sample in " +
                    SelectionText(command.samples.split, command.part));
  }
  return indices;
}

/// What is judged: the network's predictions, or those of the prior alone.
struct Judgement {
  OpenedSamples opened;
  std::vector<training::PredictedSample> predictions;
  std::string method;
};

Judgement Judge(EvaluateCommand command) {
  Judgement judgement;
  std::optional<learned::LearnedModel> learned;
  if (command.prior_from_labels) command.samples.prior = "labels";
  if (command.analytic) {
    if (!command.prior_from_labels) command.samples.prior = "analytic";
    judgement.method = "analytic";
  } else {
    learned = learned::LearnedModel::Load(command.checkpoint);
    command.samples.Follow(learned->info());
    judgement.method = MethodOf(learned->info());
  }
  judgement.opened = OpenSamples(command.samples);
  const training::SampleSet& set = judgement.opened.set;
  const std::vector<std::size_t> indices = Chosen(command, set);
  if (!learned) {
    judgement.predictions = PriorAsPrediction(set, indices);
    return judgement;
  }
  CheckFits(learned->info(), set);
  learned->network().to(training::ComputeDevice(command.compute));
  training::Communicator alone;
  judgement.predictions =
      training::PredictSamples({.store = *judgement.opened.store,
                                .set = set,
                                .info = learned->info(),
                                .network = learned->network(),
                                .communicator = alone},
                               indices)
          .predictions;
  AddIntervals(*learned, judgement.predictions);
  return judgement;
}

ExitCode RunEvaluate(const EvaluateCommand& command) {
  if (command.analytic == !command.checkpoint.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "evaluate needs either --checkpoint or --analytic");
  }
  const Judgement judgement = Judge(command);
  const training::SampleSet& set = judgement.opened.set;
  const DeviceSpec* device = KnownDevice(judgement.opened);
  training::Evaluation evaluation =
      Evaluate(set, judgement.predictions, learned::kAllTargets, device);
  evaluation.method = judgement.method;
  evaluation.dataset = command.samples.dataset;
  evaluation.selection = SelectionText(command.samples.split, command.part);
  if (!command.csv.empty()) {
    WriteWhole(command.csv, PredictionsToCsv(set, judgement.predictions,
                                             learned::kAllTargets));
  }
  std::cout << (command.json       ? EvaluationToJson(evaluation)
                : command.markdown ? EvaluationToMarkdown(evaluation)
                                   : EvaluationToText(evaluation));
  return kExitOk;
}

}  // namespace

void AddEvaluate(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<EvaluateCommand>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Judge a checkpoint, or the analytic model, by labels");
  options->samples.AddTo(*command, /*learning=*/false);
  command->add_option("--checkpoint", options->checkpoint,
                      "best.safetensors of a run");
  command->add_flag("--analytic", options->analytic,
                    "Judge the analytic model alone");
  command->add_flag("--prior-from-labels", options->prior_from_labels,
                    "Take the prior from simulated labels of the dataset");
  command->add_option("--part", options->part, "Part of the split to judge by")
      ->check(CLI::IsMember({"train", "validation", "test"}))
      ->capture_default_str();
  command
      ->add_option("--compute", options->compute,
                   "Where to compute: cpu, cuda, cuda:1")
      ->capture_default_str();
  command->add_option("--csv", options->csv, "Write every prediction here");
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->add_flag("--markdown", options->markdown, "Tables in Markdown");
  command->callback(
      [options, &exit_code] { exit_code = RunEvaluate(*options); });
}

}  // namespace foretell::cli
