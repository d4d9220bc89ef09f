#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands/command.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/named_flag.h"
#include "cli/flags/sample_flags.h"
#include "src/core/failure.h"
#include "src/core/output_file.h"
#include "training/fit/run_folder.h"
#include "training/judge/evaluation.h"
#include "training/judge/judge_samples.h"

namespace foretell::cli {
namespace {

using training::Part;

struct EvaluateCommand {
  training::JudgeOptions options;
  bool analytic = false;
  std::string csv;
  std::string html;
  bool json = false;
  bool markdown = false;
};

ExitCode RunEvaluate(const EvaluateCommand& command) {
  if (command.analytic == !command.options.checkpoint.empty()) {
    throw InvalidArgument("evaluate needs either --checkpoint or --analytic");
  }
  const training::Judgement judgement = JudgeSamples(command.options);
  if (!command.csv.empty()) {
    WriteWhole(command.csv,
               PredictionsToCsv(judgement.opened.set, judgement.predictions,
                                learned::kAllTargets));
  }
  const training::Evaluation& evaluation = judgement.evaluation;
  if (!command.html.empty()) {
    WriteWhole(command.html, EvaluationToHtml(evaluation, judgement.opened.set,
                                              judgement.predictions));
  }
  std::cout << (command.json       ? EvaluationToJson(evaluation)
                : command.markdown ? EvaluationToMarkdown(evaluation)
                                   : EvaluationToText(evaluation));
  return kExitOk;
}

void AddJudgeFlags(CLI::App& command, EvaluateCommand& evaluate) {
  training::JudgeOptions& options = evaluate.options;
  command.add_option("--checkpoint", options.checkpoint,
                     "best.safetensors of a training run");
  command.add_flag("--analytic", evaluate.analytic,
                   "Evaluate the analytic model alone");
  command.add_flag_callback(
      "--prior-from-labels",
      [&options] { options.samples.prior = training::PriorSource::kLabels; },
      "Read the prior from the dataset's simulated labels");
  AddNamed(command, "--part", options.part,
           {Part::kTrain, Part::kValidation, Part::kTest}, &training::PartName,
           "Part of the split to evaluate on");
  AddDefaulted(command, "--compute", options.compute,
               "Device to compute on: cpu, cuda, cuda:1");
}

}  // namespace

void AddEvaluate(CLI::App& app, ExitCode& exit_code) {
  auto evaluate = std::make_shared<EvaluateCommand>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Compare a checkpoint, or the analytic model, with labels");
  AddLabelFlags(*command, evaluate->options.samples);
  command->get_option("--dataset")->required();
  AddJudgeFlags(*command, *evaluate);
  command->add_option("--csv", evaluate->csv, "CSV file for every prediction");
  command->add_option("--html", evaluate->html,
                      "HTML page that plots predictions against labels");
  command->add_flag("--json", evaluate->json, "JSON document on stdout");
  command->add_flag("--markdown", evaluate->markdown, "Tables in Markdown");
  command->callback(
      [evaluate, &exit_code] { exit_code = RunEvaluate(*evaluate); });
}

}  // namespace foretell::cli
