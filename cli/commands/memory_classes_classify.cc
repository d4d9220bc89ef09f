// Steps by an ensemble of `memory-classes train`.

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/memory_classes.h"
#include "cli/flags/loop_flags.h"
#include "cli/flags/model_options.h"
#include "cli/print/progress_bar.h"
#include "src/classify/class_checkpoint.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/judge/report_json.h"

namespace foretell::cli {
namespace {

using classify::ClassAnswer;
using classify::Ensemble;
using classify::EnsembleInfo;
using classify::MemoryClasses;
using classify::StepInputs;

struct EnsembleCommand {
  ModelOptions model;
  std::string checkpoint;
  bool json = false;
};

/// What is reported about one step.
struct AnsweredStep {
  std::string model;
  GraphInfo graph;
  std::vector<std::string> warnings;
  StepInputs inputs;
  ClassAnswer answer;
};

AnsweredStep Answer(const Ensemble& ensemble, Session& session) {
  const Trace& trace = session.Step();
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const EnsembleInfo& info = ensemble.info();
  AnsweredStep step{
      .model = session.program().name(),
      .graph = trace.graph.info(),
      .warnings = trace.warnings,
      .inputs = classify::StepInputsOf(
          trace.graph, {.device = catalog.FindDevice(info.device),
                        .context = catalog.FindContext(info.environment)})};
  step.answer = ensemble.Answer(step.inputs);
  return step;
}

std::string Format(const EnsembleInfo& info, const AnsweredStep& step) {
  std::string text =
      fmt::format("{}: training with {}, {}, batch {}\non {}, environment {}\n",
                  Printable(step.model), step.graph.optimizer,
                  PrecisionName(step.graph.precision), step.inputs.batch,
                  info.device, info.environment);
  TextTable table({"memory", "probability"});
  for (int i = 0; i < info.classes.size(); ++i) {
    const double share = step.answer.probabilities[static_cast<std::size_t>(i)];
    table.AddRow({info.classes.Name(i), FormatPercent(share, 1)});
  }
  text += table.ToString();
  text += fmt::format("class: {} ({} of {}, inputs {}, learned from {})\n",
                      info.classes.Name(step.answer.Cautious()),
                      EstimatorName(info.kind), info.members,
                      InputSetName(info.inputs), Counted(info.steps, "step"));
  for (const std::string& warning : step.warnings) {
    text += fmt::format("warning: {}\n", Printable(warning));
  }
  return text;
}

nlohmann::ordered_json ClassToJson(const MemoryClasses& classes, int one) {
  nlohmann::ordered_json json = {
      {"index", one}, {"from_mib", 0.0}, {"to_mib", nullptr}};
  const auto& edges = classes.edges_mib();
  const auto place = static_cast<std::size_t>(one);
  if (one > 0) json["from_mib"] = edges[place - 1];
  if (place < edges.size()) json["to_mib"] = edges[place];
  return json;
}

nlohmann::ordered_json ToJson(const EnsembleInfo& info,
                              const std::vector<std::string>& setup,
                              const AnsweredStep& step) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (int i = 0; i < info.classes.size(); ++i) {
    nlohmann::ordered_json one = ClassToJson(info.classes, i);
    one["probability"] =
        RoundedForJson(step.answer.probabilities[static_cast<std::size_t>(i)]);
    all.push_back(std::move(one));
  }
  return {{"model", step.model},
          {"optimizer", step.graph.optimizer},
          {"precision", PrecisionName(step.graph.precision)},
          {"setup", setup},
          {"device", info.device},
          {"environment", info.environment},
          {"estimator", EstimatorName(info.kind)},
          {"input_set", InputSetName(info.inputs)},
          {"members", info.members},
          {"sets", info.sets},
          {"classes", std::move(all)},
          {"class", ClassToJson(info.classes, step.answer.Cautious())},
          {"inputs", StepInputsToJson(step.inputs)},
          {"warnings", step.warnings}};
}

ExitCode RunEnsemble(const EnsembleCommand& command) {
  const Ensemble ensemble = classify::ReadEnsemble(command.checkpoint);
  const std::vector<std::string> setup = LoopWords(command.model.loop);
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  const std::vector<ReportError> errors =
      ForEachStep(command.model, [&](Session& session) {
        const AnsweredStep step = Answer(ensemble, session);
        if (command.json) {
          results.push_back(ToJson(ensemble.info(), setup, step));
        } else {
          WipeProgress();
          std::cout << Format(ensemble.info(), step);
        }
      });
  if (command.json) {
    std::cout << DumpJson(AnswersToJson(std::move(results), errors)) << "\n";
  }
  return PrintErrors(errors);
}

}  // namespace

void AddMemoryClassesClassify(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<EnsembleCommand>();
  options->model.run.mode = Mode::kTraining;
  // GPUMemNet's networks ran by it.
  options->model.run.optimizer = Optimizer::kAdam;
  CLI::App* command =
      app.add_subcommand("classify", "Classes of steps, with probabilities");
  options->model.AddTo(*command, /*many=*/true);
  command->remove_option(command->get_option("--mode"));
  command
      ->add_option("--checkpoint", options->checkpoint, "Ensemble of `train`")
      ->required();
  command->add_flag("--json", options->json, "JSON document on stdout");
  AnswerBy(&RunEnsemble, options, *command, exit_code);
}

}  // namespace foretell::cli
