#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/memory_classes.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/print/progress_bar.h"
#include "src/classify/class_checkpoint.h"
#include "src/classify/fit_ensemble.h"
#include "src/classify/measured_steps.h"
#include "src/core/failure.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/core/printable.h"
#include "src/core/text.h"
#include "src/judge/report_json.h"

namespace foretell::cli {
namespace {

using classify::Ensemble;
using classify::EnsembleInfo;
using classify::HeldOutAnswer;
using classify::LabelledStep;
using classify::MeasuredStep;

/// The simulation that inputs hold is for one device under one environment.
constexpr char kDevice[] = "a100-sxm4-40gb";
constexpr char kEnvironment[] = "cuda12-eager";

struct InputsCommand {
  ModelOptions model;
  std::string table;
  std::string out;
  bool json = false;
};

std::vector<ReportError> WriteInputs(const InputsCommand& command,
                                     const MeasuredStep& one,
                                     OutputFile& file) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const MemoryOptions memory{.device = catalog.FindDevice(kDevice),
                             .context = catalog.FindContext(kEnvironment)};
  ModelOptions model = command.model;
  model.models = {one.model};
  if (!one.input.empty()) model.inputs = {one.input};
  model.batches = {one.batch};
  std::optional<OperatorGraph> earlier;
  if (one.pass_before > 0) model.batches = {one.pass_before, one.batch};
  model.run.mode = Mode::kTraining;
  model.run.optimizer = one.optimizer;
  return ForEachStep(model, [&](Session& session) {
    const OperatorGraph& graph = session.Step().graph;
    if (one.pass_before > 0 && !earlier) {
      earlier = graph;
      return;
    }
    LabelledStep step = one.step;
    step.inputs =
        classify::StepInputsOf(graph, memory, earlier ? &*earlier : nullptr);
    file.Write(DumpJson(classify::LabelledStepToJson(step), kOneLine) + "\n");
  });
}

ExitCode RunInputs(const InputsCommand& command) {
  const std::vector<MeasuredStep> steps =
      classify::ReadMeasuredSteps(command.table);
  OutputFile file(command.out);
  ProgressBar bar;
  std::vector<ReportError> errors;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    bar.Show(static_cast<std::int64_t>(i), std::ssize(steps),
             std::ssize(errors), steps[i].step.name);
    for (ReportError& error : WriteInputs(command, steps[i], file)) {
      PrintError(error.message);
      errors.push_back(std::move(error));
    }
  }
  file.Close();
  WipeProgress();
  const std::int64_t written = std::ssize(steps) - std::ssize(errors);
  if (command.json) {
    nlohmann::ordered_json result = {{"file", command.out}, {"steps", written}};
    std::cout << DumpJson(AnswersToJson({std::move(result)}, errors)) << "\n";
  } else {
    std::cout << fmt::format("{}: {}, {} failed\n", Printable(command.out),
                             Counted(written, "step"), errors.size());
  }
  return errors.empty() ? kExitOk : kExitModelFailed;
}

void AddInputs(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<InputsCommand>();
  CLI::App* command = app.add_subcommand(
      "inputs",
      "Print the estimators' inputs for measured steps, one JSON line each");
  options->model.AddTraceFlags(*command);
  for (const char* said_by_table : {"--mode", "--optimizer"}) {
    command->remove_option(command->get_option(said_by_table));
  }
  command
      ->add_option("TABLE", options->table,
                   "CSV: name, set, model (a file), input, batch, optimizer, "
                   "memory_mib (nothing: out of memory); pass_before: "
                   "samples of a forward pass before the first step")
      ->required();
  command->add_option("-o,--out", options->out, "File to write")->required();
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->callback([options, &exit_code] {
    exit_code = AnswerFor(
        options->table, [&] { return RunInputs(*options); },
        options->json ? &NoResults : nullptr);
  });
}

struct LearnCommand {
  std::vector<std::string> inputs;
  std::vector<std::string> sets;
  std::string edges = "8000,16000,24000,32000,40000";
  std::string estimator = "mlp";
  std::string input_set = "physics";
  int members = 0;  ///< 0: DefaultMembers.
  int folds = 3;
  std::string out;
  bool json = false;
  classify::FitOptions fit;
};

EnsembleInfo InfoOf(const LearnCommand& command) {
  const auto kind = *classify::ParseEstimator(command.estimator);
  return {.classes = classify::MemoryClasses::Parse(command.edges),
          .inputs = *classify::ParseInputSet(command.input_set),
          .kind = kind,
          .members = command.members > 0 ? command.members
                                         : classify::DefaultMembers(kind),
          .device = kDevice,
          .environment = kEnvironment};
}

/// The steps of the requested sets. Throws Error(kNotFound) for an empty set,
/// and what RequireSeveralClasses throws.
std::vector<LabelledStep> StepsOf(const LearnCommand& command) {
  std::vector<LabelledStep> steps;
  for (const std::string& path : command.inputs) {
    for (LabelledStep& step : classify::ReadLabelledSteps(path)) {
      steps.push_back(std::move(step));
    }
  }
  for (const std::string& set : command.sets) {
    if (std::ranges::count(steps, set, &LabelledStep::set) > 0) continue;
    throw NotFound("{}: no step of the set '{}'", Joined(command.inputs), set);
  }
  std::erase_if(steps, [&](const LabelledStep& step) {
    return !command.sets.empty() &&
           std::ranges::count(command.sets, step.set) == 0;
  });
  RequireSeveralClasses(steps, classify::MemoryClasses::Parse(command.edges),
                        Joined(command.inputs));
  return steps;
}

classify::FitOptions WithBar(const LearnCommand& command, ProgressBar& bar) {
  classify::FitOptions fit = command.fit;
  fit.progress = [&bar](std::int64_t done, std::int64_t total) {
    bar.Show(done, total, 0, "epochs");
  };
  return fit;
}

nlohmann::ordered_json LearnedToJson(const std::string& file,
                                     const EnsembleInfo& info) {
  return {{"file", file},
          {"estimator", EstimatorName(info.kind)},
          {"input_set", InputSetName(info.inputs)},
          {"members", info.members},
          {"edges_mib", info.classes.edges_mib()},
          {"sets", info.sets},
          {"steps", info.steps}};
}

ExitCode RunTrainClasses(const LearnCommand& command) {
  const std::vector<LabelledStep> steps = StepsOf(command);
  RequireWritable(command.out);
  ProgressBar bar;
  const Ensemble ensemble =
      FitEnsemble(steps, InfoOf(command), WithBar(command, bar));
  WriteWhole(command.out, SerializeEnsemble(ensemble));
  WipeProgress();
  if (command.json) {
    const nlohmann::ordered_json result =
        LearnedToJson(command.out, ensemble.info());
    std::cout << DumpJson(AnswersToJson({result}, {})) << "\n";
    return kExitOk;
  }
  std::cout << fmt::format("{}: learned from {}\n", Printable(command.out),
                           Counted(steps.size(), "step"));
  return kExitOk;
}

nlohmann::ordered_json AnswerToJson(const LabelledStep& step,
                                    const HeldOutAnswer& held,
                                    const classify::MemoryClasses& classes) {
  return {{"name", step.name},
          {"set", step.set},
          {"fold", held.fold},
          {"class", classes.ClassOf(step.memory_mib)},
          {"answer", held.answer.Cautious()},
          {"probabilities", held.answer.probabilities}};
}

ExitCode RunCrossValidateClasses(const LearnCommand& command) {
  const std::vector<LabelledStep> steps = StepsOf(command);
  const EnsembleInfo info = InfoOf(command);
  std::vector<HeldOutAnswer> answers;
  {
    ProgressBar bar;
    answers = CrossValidate(steps, info, WithBar(command, bar), command.folds);
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rows.push_back(AnswerToJson(steps[i], answers[i], info.classes));
  }
  nlohmann::ordered_json result = {{"edges_mib", info.classes.edges_mib()},
                                   {"steps", std::move(rows)}};
  std::cout << DumpJson(AnswersToJson({std::move(result)}, {}), kOneLine)
            << "\n";
  return kExitOk;
}

void AddLearning(CLI::App& command, LearnCommand& options) {
  command.add_option("INPUTS", options.inputs, "Files of `inputs`")->required();
  command.add_option("--set", options.sets, "Only steps of these sets");
  AddDefaulted(command, "--edges", options.edges,
               "Edges of the classes in MiB");
  AddDefaulted(command, "--estimator", options.estimator, "mlp or transformer",
               CLI::IsMember({"mlp", "transformer"}));
  AddDefaulted(
      command, "--inputs", options.input_set,
      "published: GPUMemNet's inputs; physics: also those of the simulation",
      CLI::IsMember({"published", "physics"}));
  command
      .add_option("--members", options.members,
                  "Estimators in the ensemble; default: 6 of mlp, 2 of "
                  "transformer")
      ->check(CLI::Range(1, Ensemble::kMostMembers));
  command
      .add_option("--epochs", options.fit.epochs,
                  "Passes over the steps; default: 5 of mlp, 4 of "
                  "transformer; 150 and 40 with published inputs")
      ->check(AboveZero());
  AddDefaulted(command, "--seed", options.fit.seed,
               "Seed of weights and order");
}

void AddLearn(CLI::App& app, ExitCode& exit_code) {
  auto train = std::make_shared<LearnCommand>();
  CLI::App* command = app.add_subcommand("train", "Fit an ensemble");
  AddLearning(*command, *train);
  command->add_option("-o,--out", train->out, "Checkpoint to write")
      ->required();
  command->add_flag("--json", train->json, "JSON document on stdout");
  command->callback([train, &exit_code] {
    exit_code = AnswerFor(
        train->inputs.front(), [&] { return RunTrainClasses(*train); },
        train->json ? &NoResults : nullptr);
  });

  auto judge = std::make_shared<LearnCommand>();
  command = app.add_subcommand(
      "cross-validate", "Print predicted classes of held-out steps as JSON");
  AddLearning(*command, *judge);
  AddDefaulted(*command, "--folds", judge->folds, "Number of equal parts",
               CLI::Range(2, 1000));
  command->callback([judge, &exit_code] {
    exit_code = AnswerFor(
        judge->inputs.front(), [&] { return RunCrossValidateClasses(*judge); },
        &NoResults);
  });
}

}  // namespace

void AddMemoryClasses(CLI::App& app, ExitCode& exit_code) {
  CLI::App* command = app.add_subcommand(
      "memory-classes", "Classes of training memory by GPUMemNet's networks");
  command->require_subcommand(1);
  AddInputs(*command, exit_code);
  AddLearn(*command, exit_code);
  AddMemoryClassesClassify(*command, exit_code);
}

}  // namespace foretell::cli
