#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/command.h"
#include "cli/flags/loop_flags.h"
#include "cli/flags/model_options.h"
#include "cli/print/progress_bar.h"
#include "src/classify/built_in.h"
#include "src/classify/class_checkpoint.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/text_table.h"
#include "src/predict/report_json.h"

namespace foretell::cli {
namespace {

using classify::ClassAnswer;
using classify::Ensemble;
using classify::EnsembleInfo;
using classify::MemoryClasses;
using classify::StepInputs;

constexpr char kClassifyExamples[] =
    "Examples:\n"
    "  foretell classify resnet50.onnx --batch 32,64,128\n"
    "  foretell classify model.pt --input f32[64,784] --estimator mlp --json";

/// The bound that is not exceeded with this probability is printed, too.
constexpr double kSafe = 0.99;

struct ClassifyOptions {
  ModelOptions model;
  std::string estimator = "transformer";
  std::string checkpoint;
  bool json = false;
};

/// What is reported about one step.
struct ClassifiedStep {
  std::string model;
  std::string optimizer;
  Precision precision = Precision::kFp32;
  std::vector<std::string> setup;  ///< Flags of the loop: "--parallel ddp:4".
  std::vector<std::string> warnings;
  StepInputs inputs;
  const EnsembleInfo* info = nullptr;
  ClassAnswer answer;

  /// The analytic figure rounded to classes: what the device holds, or the
  /// last class where the step does not fit.
  int AnalyticClass() const {
    return info->classes.ClassOf(inputs.simulated.held_mib);
  }
};

std::string SourceText(const EnsembleInfo& info) {
  return fmt::format("{} of {}, inputs {}, learned from {}",
                     EstimatorName(info.kind), info.members,
                     InputSetName(info.inputs), Counted(info.steps, "step"));
}

std::string SetupText(const std::vector<std::string>& setup) {
  std::string text;
  for (const std::string& flag : setup) {
    text += fmt::format(", {}", Printable(flag));
  }
  return text;
}

/// States that a built-in ensemble has seen no such step; empty if it has.
std::string UnlikeLearned(const ClassifiedStep& step) {
  const auto optimizers = classify::LearnedOptimizers(step.inputs);
  const bool is_alike = step.precision == Precision::kFp32 &&
                        std::ranges::count(optimizers, step.optimizer) > 0;
  if (is_alike && step.setup.empty()) return "";
  return fmt::format(
      "classes were learned from steps of {} in fp32 in PyTorch's plain loop; "
      "this step has {}, {}{}",
      fmt::join(optimizers, " and "), step.optimizer,
      PrecisionName(step.precision), SetupText(step.setup));
}

std::string Format(const ClassifiedStep& step) {
  const MemoryClasses& classes = step.info->classes;
  std::string text = fmt::format(
      "{}: training with {}, {}, batch {}{}\non {}, environment {}\n",
      Printable(step.model), step.optimizer, PrecisionName(step.precision),
      step.inputs.batch, SetupText(step.setup), step.info->device,
      step.info->environment);
  TextTable table({"memory", "probability"});
  for (int i = 0; i < classes.size(); ++i) {
    const double share = step.answer.probabilities[static_cast<std::size_t>(i)];
    table.AddRow({classes.Name(i), FormatPercent(share, 1)});
  }
  text += table.ToString();
  text += fmt::format("class: {} ({})\n", classes.Name(step.answer.Cautious()),
                      SourceText(*step.info));
  text += fmt::format("not exceeded with {}: {}\n", FormatPercent(kSafe, 0),
                      classes.Name(step.answer.NotExceeded(kSafe)));
  text += fmt::format("analytic: {} MiB{}, {}\n",
                      FormatNumber(step.inputs.simulated.total_mib, 0),
                      step.inputs.simulated.held_mib ? "" : ", out of memory",
                      classes.Name(step.AnalyticClass()));
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

nlohmann::ordered_json ToJson(const ClassifiedStep& step) {
  const MemoryClasses& classes = step.info->classes;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (int i = 0; i < classes.size(); ++i) {
    nlohmann::ordered_json one = ClassToJson(classes, i);
    one["probability"] =
        RoundedForJson(step.answer.probabilities[static_cast<std::size_t>(i)]);
    all.push_back(std::move(one));
  }
  return {
      {"model", step.model},
      {"optimizer", step.optimizer},
      {"precision", PrecisionName(step.precision)},
      {"setup", step.setup},
      {"device", step.info->device},
      {"environment", step.info->environment},
      {"estimator", EstimatorName(step.info->kind)},
      {"input_set", InputSetName(step.info->inputs)},
      {"members", step.info->members},
      {"sets", step.info->sets},
      {"classes", std::move(all)},
      {"class", ClassToJson(classes, step.answer.Cautious())},
      {"not_exceeded_99", ClassToJson(classes, step.answer.NotExceeded(kSafe))},
      {"analytic_class", ClassToJson(classes, step.AnalyticClass())},
      {"inputs", StepInputsToJson(step.inputs)},
      {"warnings", step.warnings}};
}

void RequireTrainingMode(const ModelOptions& model) {
  if (model.run.mode == Mode::kTraining) return;
  throw Error(ErrorCode::kInvalidArgument,
              "--mode inference: memory classes exist for training steps only");
}

/// Answers steps by the ensemble of the checkpoint, or by a built-in one.
class Classifier {
 public:
  explicit Classifier(const ClassifyOptions& options)
      : kind_(*classify::ParseEstimator(options.estimator)),
        setup_(LoopWords(options.model.loop)) {
    if (options.checkpoint.empty()) return;
    own_ = classify::ReadEnsemble(options.checkpoint);
  }

  ClassifiedStep Classify(const std::string& model, const Trace& trace) const {
    const OperatorGraph& graph = trace.graph;
    const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
    // All built-in ensembles are for the device and environment of their rows.
    const std::string device = own_ ? own_->info().device : "a100-sxm4-40gb";
    const std::string environment =
        own_ ? own_->info().environment : "cuda12-eager";
    ClassifiedStep step{.model = model,
                        .optimizer = graph.info().optimizer,
                        .precision = graph.info().precision,
                        .setup = setup_,
                        .warnings = trace.warnings};
    step.inputs = classify::StepInputsOf(
        graph, {.device = catalog.FindDevice(device),
                .context = catalog.FindContext(environment)});
    const std::string unlike = own_ ? "" : UnlikeLearned(step);
    if (!unlike.empty()) step.warnings.push_back(unlike);
    const Ensemble& ensemble =
        own_ ? *own_ : classify::BuiltInEnsemble(step.inputs, kind_);
    step.info = &ensemble.info();
    step.answer = ensemble.Answer(step.inputs);
    return step;
  }

 private:
  classify::EstimatorKind kind_;
  std::vector<std::string> setup_;
  std::optional<Ensemble> own_;
};

ExitCode RunClassify(const ClassifyOptions& options) {
  RequireTrainingMode(options.model);
  const Classifier classifier(options);
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  const std::vector<ReportError> errors = ForEachTrace(
      options.model, [&](const Program& program, const Trace& trace) {
        const ClassifiedStep step = classifier.Classify(program.name(), trace);
        if (options.json) {
          results.push_back(ToJson(step));
        } else {
          WipeProgress();
          std::cout << Format(step);
        }
      });
  if (options.json) {
    std::cout << DumpJson(AnswersToJson(std::move(results), errors)) << "\n";
  }
  for (const ReportError& error : errors) PrintError(error.message);
  return errors.empty() ? kExitOk : kExitModelFailed;
}

}  // namespace

void AddClassify(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<ClassifyOptions>();
  options->model.run.mode = Mode::kTraining;
  options->model.run.optimizer = Optimizer::kAdam;
  CLI::App* command = app.add_subcommand(
      "classify", "Memory class of a training step, with probabilities");
  command->footer(kClassifyExamples);
  options->model.AddTo(*command, /*many=*/true);
  command
      ->add_option(
          "--estimator", options->estimator,
          "transformer: reads the sequence of layers; mlp: their counts")
      ->check(CLI::IsMember({"transformer", "mlp"}))
      ->capture_default_str();
  command->add_option(
      "--checkpoint", options->checkpoint,
      "Ensemble written by `memory-classes train`, instead of a built-in one");
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->callback([options, &exit_code] {
    exit_code = AnswerFor(
        options->model.models.front(), [&] { return RunClassify(*options); },
        options->json ? &NoResults : nullptr);
  });
}

}  // namespace foretell::cli
